// The table of sessions and of the fairness keys they belong to, with the quota of each. Conductor
// thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/core/event.h"
#include "daemon/session.h"
#include "daemon/settings.h"

namespace tentq {

// What a quota belongs to: sessions of one key take turns and share its limits, however many they
// are.
struct FairnessKey {
  // Quota, uid, control group; what its members need not have in common is "any".
  using Name = std::tuple<std::string, std::int64_t, std::string>;

  Name name;
  std::optional<Quota> quota;      // none: the limits of all clients
  std::uint32_t weight = 1;        // its quota's, or what an administrator set
  std::uint64_t pinned_bytes = 0;  // registered, or being registered
  std::uint32_t holders = 0;       // sessions, and registrations that have not ended
};

class Sessions {
 public:
  // `most_keys`: fairness keys that the core has room for.
  Sessions(std::uint32_t most, std::uint32_t most_keys) : table_(most), most_keys_(most_keys) {
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

  // Makes the session one of its fairness key's: by its quota, uid and control group. False: there
  // is no room for another key.
  bool join_key(Session& session, const std::vector<Quota>& quotas);
  const FairnessKey& key(ClientKey key) const { return keys_[key.value()]; }
  // What the core is to know of a key.
  core::ClientChanged terms_of(ClientKey key) const;
  void set_weight(ClientKey key, std::uint32_t weight) { keys_[key.value()].weight = weight; }
  // Registered bytes, which hold the key until they are given back.
  void charge_pinned(ClientKey key, std::uint64_t bytes);
  void release_pinned(ClientKey key, std::uint64_t bytes);

  // After a change of the quotas: keys have the new values and the configured weights. `changed` is
  // called for each. `stays` is called for sessions that keep what they have until they attach
  // again: their classes are others, or their quota is not that of all sessions of their key.
  template <class Changed, class Stays>
  void renew(const std::vector<Quota>& quotas, Changed changed, Stays stays);

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
  static FairnessKey::Name name_of(const Session& session, const Quota* quota);
  static void give(FairnessKey& key, const Quota* quota);
  void drop_key(ClientKey key);
  void renew_key(std::uint32_t index, const std::vector<Quota>& quotas);

  std::vector<std::unique_ptr<Session>> table_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_client_ = 1;
  std::uint32_t most_keys_;
  std::map<FairnessKey::Name, std::uint32_t> key_index_;
  std::vector<FairnessKey> keys_;
  std::vector<std::uint32_t> free_keys_;
};

// The quota that is for a session; null: none.
const Quota* quota_of(const std::vector<Quota>& quotas, const Session& session);
// Whether the session has other classes than it would get by the quota that it matches now.
bool has_other_classes(const Session& session, const Quota* quota);

template <class Changed, class Stays>
void Sessions::renew(const std::vector<Quota>& quotas, Changed changed, Stays stays) {
  for (std::uint32_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].holders == 0) continue;
    renew_key(i, quotas);
    changed(ClientKey{i});
  }
  for_each([&](Session& session) {
    if (session.leaving) return;
    const Quota* quota = quota_of(quotas, session);
    const bool other_key = name_of(session, quota) != keys_[session.key.value()].name;
    if (other_key || has_other_classes(session, quota)) stays(session);
  });
}

// The control group of a process, as far as this process can see it; "" if it cannot.
std::string cgroup_of(std::uint32_t pid);

}  // namespace tentq
