#include "daemon/core/credits/turns.h"

#include <algorithm>

#include "daemon/core/hash.h"

namespace tentq::core {

CreditTurns::CreditTurns(std::uint32_t senders,
                         const std::array<std::uint32_t, kMaxClasses>& weights,
                         std::uint64_t quantum)
    : senders_(senders), members_(kMaxClasses + 1, senders) {
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    quanta_[c] = static_cast<std::int64_t>(std::max(1u, weights[c]) * quantum);
  }
}

void CreditTurns::set(std::uint32_t row, std::uint32_t sender, bool member) {
  if (members_.has(row, sender) == member) return;
  if (member) {
    members_.add(row, sender);
    counts_[row] += 1;
    members_count_ += 1;
    return;
  }
  members_.remove(row, sender);
  counts_[row] -= 1;
  members_count_ -= 1;
  // A class that nobody wants any more keeps its debts, never its savings.
  if (row < kMaxClasses && counts_[row] == 0)
    deficits_[row] = std::min<std::int64_t>(deficits_[row], 0);
}

std::uint32_t CreditTurns::next_in(std::uint32_t row, std::uint32_t cursor) const {
  if (counts_[row] == 0) return kNone;
  const std::uint32_t before = cursor == 0 ? senders_ - 1 : cursor - 1;
  return members_.next(row, before, [](std::uint32_t) { return true; });
}

std::uint32_t CreditTurns::next_hungry() const {
  return next_in(kHungry, hungry_);
}

void CreditTurns::fed(std::uint32_t sender) {
  hungry_ = (sender + 1) % senders_;
}

CreditTurns::Turn CreditTurns::next() {
  if (members_count_ == counts_[kHungry]) return {};
  while (counts_[cls_] == 0 || deficits_[cls_] <= 0) {
    cls_ = (cls_ + 1) % kMaxClasses;
    if (counts_[cls_] != 0) deficits_[cls_] += quanta_[cls_];
  }
  cursors_[cls_] = next_in(cls_, cursors_[cls_]);
  return {cursors_[cls_], cls_};
}

void CreditTurns::pay(const Turn& turn, std::uint64_t bytes) {
  deficits_[turn.cls] -= static_cast<std::int64_t>(bytes);
  cursors_[turn.cls] = (turn.sender + 1) % senders_;
}

std::uint64_t CreditTurns::hash(std::uint64_t seed) const {
  std::uint64_t hash = fold(fold(seed, hungry_), cls_);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    hash = fold(fold(hash, static_cast<std::uint64_t>(deficits_[c])), cursors_[c]);
  }
  return hash;
}

}  // namespace tentq::core
