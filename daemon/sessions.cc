// Table of sessions and fairness keys. See sessions.h.
#include "daemon/sessions.h"

#include <fstream>

#include "daemon/config/quotas.h"
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
  if (session.key.valid()) drop_key(session.key);
  const std::uint32_t index = session.id.value();
  table_[index].reset();
  free_.push_back(index);
}

FairnessKey::Name Sessions::name_of(const Session& session, const Quota* quota) {
  constexpr std::int64_t kAnyUid = -1;
  const QuotaPer per = quota == nullptr ? QuotaPer::cgroup : quota->per;
  return {quota == nullptr ? std::string() : quota_name(*quota),
          per == QuotaPer::all ? kAnyUid : std::int64_t{session.credentials.uid},
          per == QuotaPer::cgroup ? session.cgroup : std::string()};
}

void Sessions::give(FairnessKey& key, const Quota* quota) {
  key.quota = quota == nullptr ? std::nullopt : std::optional<Quota>(*quota);
  key.weight = quota == nullptr ? 1 : quota->weight;
}

bool Sessions::join_key(Session& session, const std::vector<Quota>& quotas) {
  const Quota* quota = quota_of(quotas, session);
  FairnessKey::Name name = name_of(session, quota);
  auto it = key_index_.find(name);
  if (it == key_index_.end()) {
    if (free_keys_.empty()) {
      if (keys_.size() >= most_keys_) return false;
      free_keys_.push_back(static_cast<std::uint32_t>(keys_.size()));
      keys_.emplace_back();
    }
    it = key_index_.emplace(name, free_keys_.back()).first;
    free_keys_.pop_back();
    FairnessKey& fresh = keys_[it->second];
    fresh = FairnessKey{};
    fresh.name = std::move(name);
    give(fresh, quota);
  }
  ++keys_[it->second].holders;
  session.key = ClientKey{it->second};
  return true;
}

void Sessions::drop_key(ClientKey key) {
  FairnessKey& entry = keys_[key.value()];
  TENTQ_CHECK(entry.holders > 0);
  if (--entry.holders > 0) return;
  TENTQ_CHECK(entry.pinned_bytes == 0);
  key_index_.erase(entry.name);
  free_keys_.push_back(key.value());
}

core::ClientChanged Sessions::terms_of(ClientKey key) const {
  const FairnessKey& entry = keys_[key.value()];
  core::ClientChanged terms;
  terms.client = key;
  terms.weight = entry.weight;
  if (!entry.quota) return terms;
  terms.in_flight_bytes = entry.quota->in_flight_bytes.value_or(0);
  terms.outstanding.owners = entry.quota->owners.value_or(core::kAsAllClients);
  terms.outstanding.bytes = entry.quota->bytes.value_or(core::kAsAllClients);
  return terms;
}

void Sessions::charge_pinned(ClientKey key, std::uint64_t bytes) {
  FairnessKey& entry = keys_[key.value()];
  entry.pinned_bytes += bytes;
  ++entry.holders;
}

void Sessions::release_pinned(ClientKey key, std::uint64_t bytes) {
  FairnessKey& entry = keys_[key.value()];
  TENTQ_CHECK(entry.pinned_bytes >= bytes);
  entry.pinned_bytes -= bytes;
  drop_key(key);
}

// What all its sessions match now becomes its quota; where they do not agree, or it would be a
// second key of the same name, it keeps the quota that it has, with the values of today.
void Sessions::renew_key(std::uint32_t index, const std::vector<Quota>& quotas) {
  FairnessKey& key = keys_[index];
  const Quota* wanted = nullptr;
  std::optional<FairnessKey::Name> name;
  bool agree = true;
  for_each([&](const Session& session) {
    if (session.key != ClientKey{index}) return;
    const Quota* quota = quota_of(quotas, session);
    FairnessKey::Name each = name_of(session, quota);
    agree = agree && (!name || *name == each);
    name = std::move(each);
    wanted = quota;
  });
  if (name && agree && (*name == key.name || !key_index_.contains(*name))) {
    key_index_.erase(key.name);
    key.name = *name;
    key_index_.emplace(key.name, index);
    return give(key, wanted);
  }
  for (const Quota& quota : quotas) {
    if (key.quota && same_match(*key.quota, quota)) return give(key, &quota);
  }
  key.weight = key.quota ? key.quota->weight : 1;
}

const Quota* quota_of(const std::vector<Quota>& quotas, const Session& session) {
  return quota_of(quotas, session.name, session.credentials.uid, session.credentials.groups);
}

bool has_other_classes(const Session& session, const Quota* quota) {
  std::uint32_t downgraded = 0;
  const std::uint32_t granted = granted_classes(quota, session.asked_classes, &downgraded);
  return granted != session.class_mask || downgraded != session.downgraded;
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
