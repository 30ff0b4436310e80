// Charges and releases at every level.
#include "daemon/core/accounts.h"

namespace tentq::core {

void Accounts::set_limits(const Limits& limits) {
  host_total_ = limits.host;
  reserve_ = limits.internal_reserve;
  const auto change = [](Level& level, const Amounts& limit) {
    level.limit = limit;
    level.tolerated = fits(level.committed, limit) ? Amounts{} : level.committed;
    level.update_short();
  };
  for (std::size_t c = 0; c < kMaxClasses; ++c) change(classes_[c], limits.classes[c].outstanding);
  for (Level& client : clients_) change(client, limits.client);
  host_.tolerated = {};
  update_host_limit();
  if (!fits(host_.committed, host_.limit)) host_.tolerated = host_.committed;
}

void Accounts::check() const {
  const auto check_level = [](const Level& level) {
    TENTQ_CHECK(fits(level.committed, largest(level.limit, level.tolerated)));
  };
  check_level(host_);
  TENTQ_CHECK(fits(host_.outstanding, host_.committed));
  Amounts classes;
  Amounts clients;
  Amounts sessions;
  for (const Level& level : classes_) {
    check_level(level);
    core::charge(classes, level.outstanding);
  }
  for (const Level& level : clients_) {
    check_level(level);
    TENTQ_CHECK(fits(level.outstanding, level.committed));
    core::charge(clients, level.outstanding);
  }
  for (const Level& level : sessions_) {
    check_level(level);
    core::charge(sessions, level.outstanding);
  }
  TENTQ_CHECK(clients == host_.outstanding);
  TENTQ_CHECK(classes == outstanding() && sessions == outstanding());
}

void Accounts::update_host_limit() {
  host_.limit = minus_saturating(host_total_, largest(reserve_, internal_));
  host_.update_short();
}

void Accounts::charge(const Amounts& amounts, std::uint32_t session, std::uint32_t client,
                      std::uint32_t cls, bool internal) {
  core::charge(classes_[cls].outstanding, amounts);
  core::charge(sessions_[session].outstanding, amounts);
  if (internal) {
    core::charge(internal_, amounts);
    update_host_limit();
    return;
  }
  core::charge(host_.outstanding, amounts);
  core::charge(clients_[client].outstanding, amounts);
}

void Accounts::release(const Amounts& amounts, std::uint32_t session, std::uint32_t client,
                       std::uint32_t cls, bool internal) {
  core::release(classes_[cls].outstanding, amounts);
  core::release(sessions_[session].outstanding, amounts);
  if (internal) {
    core::release(internal_, amounts);
    update_host_limit();
    return;
  }
  core::release(host_.outstanding, amounts);
  core::release(clients_[client].outstanding, amounts);
}

Amounts Accounts::internal_room(std::uint32_t cls) const {
  const Amounts promised = plus_saturating(largest(host_.committed, host_.outstanding), internal_);
  return least(minus_saturating(host_total_, promised),
               minus_saturating(classes_[cls].limit, classes_[cls].outstanding));
}

}  // namespace tentq::core
