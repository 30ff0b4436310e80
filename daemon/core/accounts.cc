// Limits of the levels.
#include "daemon/core/accounts.h"

namespace tentq::core {

void Accounts::set_limits(const Limits& limits) {
  host_total_ = limits.host;
  reserve_ = limits.internal_reserve;
  all_clients_ = limits.client;
  for (std::size_t c = 0; c < kMaxClasses; ++c) change(classes_[c], limits.classes[c].outstanding);
  for (std::uint32_t k = 0; k < clients_.size(); ++k) change(clients_[k], limit_of_client(k));
  host_.tolerated = {};
  update_host_limit();
  if (!fits(host_.committed, host_.limit)) host_.tolerated = host_.committed;
}

void Accounts::change(Level& level, const Amounts& limit) {
  level.limit = limit;
  level.tolerated = fits(level.committed, limit) ? Amounts{} : level.committed;
  update_short(level);
}

bool Accounts::set_client_limit(std::uint32_t client, const Amounts& own) {
  if (own_limits_[client] == own) return false;
  own_limits_[client] = own;
  change(clients_[client], limit_of_client(client));
  return true;
}

Amounts Accounts::limit_of_client(std::uint32_t client) const {
  const Amounts& own = own_limits_[client];
  const auto pick = [](std::uint64_t mine, std::uint64_t of_all) {
    return mine == kAsAllClients ? of_all : mine;
  };
  return {pick(own.owners, all_clients_.owners), pick(own.bytes, all_clients_.bytes),
          pick(own.extents, all_clients_.extents)};
}

void Accounts::set_session_limit(std::uint32_t session, const Amounts& limit) {
  Level& level = sessions_[session];
  TENTQ_CHECK(is_zero(level.committed) && is_zero(level.held));
  level.limit = limit;
  level.asked = level.tolerated = {};
  update_short(level);
}

void Accounts::check() const {
  std::int32_t short_levels = 0;
  const auto check_level = [&short_levels](const Level& level) {
    TENTQ_CHECK(level.is_short == level.lacks());
    short_levels += level.is_short ? 1 : 0;
    TENTQ_CHECK(fits(level.committed, largest(level.limit, level.tolerated)));
  };
  check_level(host_);
  TENTQ_CHECK(fits(users_, host_.committed));
  for (const Level& level : classes_) check_level(level);
  for (std::uint32_t k = 0; k < clients_.size(); ++k) {
    check_level(clients_[k]);
    TENTQ_CHECK(clients_[k].limit == limit_of_client(k));
  }
  for (const Level& level : sessions_) check_level(level);
  TENTQ_CHECK(short_levels == short_count_);
}

void Accounts::update_host_limit() {
  host_.limit = minus_saturating(host_total_, largest(reserve_, internal_));
  update_short(host_);
}

Amounts Accounts::internal_room() const {
  const Amounts& class_limit = classes_[index_of(ClassId::internal)].limit;
  return least(minus_saturating(host_total_, plus_saturating(host_.committed, internal_)),
               minus_saturating(class_limit, internal_));
}

}  // namespace tentq::core
