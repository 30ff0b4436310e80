// The table of sessions and of the fairness keys they belong to. Conductor thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session.h"

namespace tentq {

class Sessions {
 public:
  explicit Sessions(std::uint32_t most) : table_(most) {
    for (std::uint32_t i = most; i > 0; --i) free_.push_back(i - 1);
  }

  bool full() const { return free_.empty(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(table_.size() - free_.size()); }
  // A new session with its id and client id; not full().
  Session& create();
  // Null when there is none.
  Session* find(SessionId id) {
    return id.value() < table_.size() ? table_[id.value()].get() : nullptr;
  }
  // Frees the id; the session's memory mappings have been taken out before.
  void remove(Session& session);

  // The fairness key of a user's control group; shared by all its sessions.
  ClientKey key_of(std::uint32_t uid, const std::string& cgroup);
  void drop_key(ClientKey key);

  template <class Visit>
  void for_each(Visit visit) {
    for (auto& session : table_) {
      if (session) visit(*session);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& session : table_) {
      if (session) visit(static_cast<const Session&>(*session));
    }
  }

 private:
  struct Key {
    std::uint32_t users = 0;
    std::pair<std::uint32_t, std::string> name;
  };

  std::vector<std::unique_ptr<Session>> table_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_client_ = 1;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> key_index_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> free_keys_;
};

// The control group of a process, as far as this process can see it; "" if it cannot.
std::string cgroup_of(std::uint32_t pid);

}  // namespace tentq
