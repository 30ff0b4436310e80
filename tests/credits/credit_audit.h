// What must hold between a sender and a receiver of credit, beside what each checks of itself.
#pragma once

#include "daemon/core/credits/receiver.h"
#include "daemon/core/credits/sender.h"

namespace tentq::core {

// Counters of one life, to see that they only rise (I4).
struct CreditCounters {
  std::uint64_t receiver_epoch = 0;
  std::uint32_t life = 0;
  std::uint64_t limit = 0;
  std::uint64_t sent = 0;
  std::uint64_t freed = 0;

  static CreditCounters of(const CreditSender& sender) {
    return {sender.receiver_epoch(), sender.life(), sender.limit(), sender.sent(), sender.freed()};
  }
  static CreditCounters of(const CreditReceiver::Sender& sender) {
    return {sender.epoch, sender.live ? sender.life() : 0, sender.limit, sender.sent, sender.freed};
  }
};
void check_monotone(const CreditCounters& before, const CreditCounters& after);

// I5: what the sender may use was granted to it and is counted by the receiver. `index`: its place
// there; `epoch`: of the receiver.
void check_credit_between(const CreditSender& sender, const CreditReceiver& receiver,
                          std::uint32_t index, std::uint64_t epoch, std::int64_t now_ns);

}  // namespace tentq::core
