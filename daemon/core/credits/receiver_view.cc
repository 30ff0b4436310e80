// What can be seen of the receiver: its exposure, its invariants, its hash.
#include <algorithm>
#include <bit>

#include "daemon/core/credits/receiver.h"
#include "daemon/core/hash.h"
#include "proto/check.h"

namespace tentq::core {

std::uint64_t CreditReceiver::most_in_flight_of(std::uint32_t index) const {
  const Sender& sender = senders_[index];
  if (!sender.attached) return 0;
  if (!sender.speaks) return rules_.legacy_bytes;
  return std::max({sender.outstanding(), sender.window, sender.carried});
}

CreditExposure CreditReceiver::exposure() const {
  CreditExposure exposure;
  exposure.pool = pool_bytes_;
  exposure.bound = std::max(cap_bytes(), over_);
  exposure.outstanding = outstanding_;
  exposure.legacy = legacy_ * rules_.legacy_bytes;
  exposure.booting = booting_;
  for (std::uint32_t i = 0; i < senders_.size(); ++i) {
    const Sender& sender = senders_[i];
    if (!sender.attached || !sender.speaks) continue;
    if (sender.live) {
      exposure.uncredited += sender.uncredited;
    } else {
      exposure.stale += most_in_flight_of(i);
    }
  }
  return exposure;
}

void CreditReceiver::check_invariants() const {
  std::uint64_t outstanding = 0;
  std::uint64_t held = 0;
  std::uint32_t speaking = 0;
  std::uint32_t attached = 0;
  for (std::uint32_t i = 0; i < senders_.size(); ++i) {
    const Sender& sender = senders_[i];
    TENTQ_CHECK(sender.freed <= sender.sent && sender.sent <= sender.limit);  // I3
    TENTQ_CHECK(sender.attached || !sender.live);
    TENTQ_CHECK(sender.live || (sender.limit == 0 && sender.uncredited == 0));
    TENTQ_CHECK(turns_.is_hungry(i) == (sender.need != 0));
    TENTQ_CHECK(sender.live || !owed_.has(0, i));
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      TENTQ_CHECK(turns_.is_wanting(i, c) == (sender.unmet[c] != 0));
    }
    outstanding += sender.outstanding();
    held += sender.held();
    attached += sender.attached ? 1 : 0;
    speaking += sender.speaks ? 1 : 0;
  }
  TENTQ_CHECK(outstanding == outstanding_ && held == held_);
  TENTQ_CHECK(speaking == speaking_ && attached == speaking_ + legacy_);
  TENTQ_CHECK(outstanding_ <= std::max(cap_bytes(), over_));  // I1
  TENTQ_CHECK(pool_bytes_ >= 2 * rules_.chunk_bytes);
}

std::uint64_t CreditReceiver::hash(std::uint64_t seed, std::int64_t now_ns) const {
  std::uint64_t hash = turns_.hash(seed);
  for (std::uint32_t i = 0; i < senders_.size(); ++i) {
    const Sender& sender = senders_[i];
    for (const std::uint64_t value :
         {sender.limit - sender.freed, sender.sent - sender.freed, sender.uncredited, sender.window,
          sender.carried, sender.need}) {
      hash = fold(hash, value);
    }
    for (const std::uint64_t bytes : sender.unmet) hash = fold(hash, bytes);
    hash = fold(hash, std::uint64_t{sender.attached} | std::uint64_t{sender.speaks} << 1 |
                          std::uint64_t{sender.live} << 2 | std::uint64_t{owed_.has(0, i)} << 3);
    hash = fold(hash, sender.live ? static_cast<std::uint64_t>(now_ns - sender.heard_ns) : 0);
  }
  hash = fold(fold(hash, pool_bytes_), over_);
  hash = fold(fold(hash, last_owed_),
              booting_ ? static_cast<std::uint64_t>(boot_ends_ns_ - now_ns) : 0);
  const auto age = [now_ns](std::int64_t time_ns) {
    return time_ns == kNever_ns ? UINT64_MAX : static_cast<std::uint64_t>(now_ns - time_ns);
  };
  if (rate_.highest() != 0) {
    hash = fold(fold(fold(hash, age(unmet_since_ns_)), age(period_ns_)), age(bounded_ns_));
    hash = fold(hash, bounded_ ? 1 : 0);
  }
  return fold(hash, std::bit_cast<std::uint64_t>(rate_.highest()));
}

}  // namespace tentq::core
