// The slow path of admission credit: wishes of refused calls. A wish's serial is odd while its
// amounts are written, so the daemon never takes half of one.
#include "shm/credit.h"

#include "shm/cancellation_hold.h"

namespace tentq::shm {

void CreditSpender::wish(const CreditAmounts& amounts) {
  const CancellationHold hold;
  std::uint64_t serial = wish_->serial.load(std::memory_order_relaxed);
  // Even → odd makes this thread the only writer; a loser leaves the winner's wish. Acquire: the
  // stores below stay behind those of the wish before.
  if ((serial & 1) != 0 ||
      !wish_->serial.compare_exchange_strong(serial, serial + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
    return;
  }
  // Partner: the acquire loads in take_wish. Release: who reads one of these amounts also sees the
  // odd serial, and drops them.
  wish_->owners.store(amounts.owners, std::memory_order_release);
  wish_->bytes.store(amounts.bytes, std::memory_order_release);
  wish_->extents.store(amounts.extents, std::memory_order_release);
  // Partner: the first load in take_wish. Release: without it a new serial could stand beside
  // amounts of the wish before.
  wish_->serial.store(serial + 2, std::memory_order_release);
}

// Partner: CreditGrantor::take_wish and still_waiting. Relaxed: a count that is read late only
// keeps a wish a little longer.
void CreditSpender::begin_waiting() {
  wish_->waiting.fetch_add(1, std::memory_order_relaxed);
}

void CreditSpender::end_waiting() {
  wish_->waiting.fetch_sub(1, std::memory_order_relaxed);
}

bool CreditGrantor::take_wish(Wish* wish) {
  // Partner: CreditSpender::wish; what breaks is said there.
  const std::uint64_t serial = wish_->serial.load(std::memory_order_acquire);
  if (serial == seen_serial_ || (serial & 1) != 0) return false;
  wish->amounts.owners = wish_->owners.load(std::memory_order_acquire);
  wish->amounts.bytes = wish_->bytes.load(std::memory_order_acquire);
  wish->amounts.extents = wish_->extents.load(std::memory_order_acquire);
  wish->waiting = still_waiting();
  if (wish_->serial.load(std::memory_order_relaxed) != serial) return false;
  seen_serial_ = serial;
  return true;
}

}  // namespace tentq::shm
