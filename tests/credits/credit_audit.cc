#include "tests/credits/credit_audit.h"

#include "proto/check.h"

namespace tentq::core {

void check_monotone(const CreditCounters& before, const CreditCounters& after) {
  if (before.life != after.life || before.receiver_epoch != after.receiver_epoch) return;
  TENTQ_CHECK(after.limit >= before.limit);
  TENTQ_CHECK(after.sent >= before.sent);
  TENTQ_CHECK(after.freed >= before.freed);
}

void check_credit_between(const CreditSender& sender, const CreditReceiver& receiver,
                          std::uint32_t index, std::uint64_t epoch, std::int64_t now_ns) {
  const CreditReceiver::Sender& entry = receiver.of(index);
  const bool expired = now_ns >= sender.life_ends_ns();
  if (sender.receiver_epoch() != epoch) {
    // An earlier life of the receiver granted it: that is over when the boot is.
    TENTQ_CHECK(sender.limit() == 0 || expired || receiver.is_booting());
    return;
  }
  const bool same_life = entry.live && entry.life() == sender.life();
  TENTQ_CHECK(entry.life() <= sender.life());
  TENTQ_CHECK(sender.limit() == 0 || expired || same_life);
  if (same_life) {
    TENTQ_CHECK(sender.limit() <= entry.limit);
    TENTQ_CHECK(sender.sent() >= entry.sent);
    TENTQ_CHECK(sender.freed() >= entry.freed);
  }
}

}  // namespace tentq::core
