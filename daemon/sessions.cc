// Table of sessions and fairness keys. See sessions.h.
#include "daemon/sessions.h"

#include <fstream>

#include "proto/check.h"

namespace tentq {

Session& Sessions::create() {
  TENTQ_CHECK(!full());
  const std::uint32_t index = free_.back();
  free_.pop_back();
  table_[index] = std::make_unique<Session>();
  Session& session = *table_[index];
  session.id = SessionId{index};
  session.client = ClientId{next_client_++};
  return session;
}

void Sessions::remove(Session& session) {
  drop_key(session.key);
  const std::uint32_t index = session.id.value();
  table_[index].reset();
  free_.push_back(index);
}

ClientKey Sessions::key_of(std::uint32_t uid, const std::string& cgroup) {
  const auto name = std::make_pair(uid, cgroup);
  auto it = key_index_.find(name);
  if (it == key_index_.end()) {
    if (free_keys_.empty()) {
      free_keys_.push_back(static_cast<std::uint32_t>(keys_.size()));
      keys_.emplace_back();
    }
    it = key_index_.emplace(name, free_keys_.back()).first;
    free_keys_.pop_back();
    keys_[it->second] = {0, name};
  }
  ++keys_[it->second].users;
  return ClientKey{it->second};
}

void Sessions::drop_key(ClientKey key) {
  if (!key.valid()) return;
  Key& entry = keys_[key.value()];
  TENTQ_CHECK(entry.users > 0);
  if (--entry.users > 0) return;
  key_index_.erase(entry.name);
  free_keys_.push_back(key.value());
}

std::string cgroup_of(std::uint32_t pid) {
  if (pid == 0) return {};
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  // The unified hierarchy's line is "0::/path"; it alone, so that a v1 controller's path is not
  // mixed in.
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return {};
}

}  // namespace tentq
