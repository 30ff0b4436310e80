// Admission credit of one class, from both sides. STA holds cumulative grants, REQ cumulative
// consumption; the two sides meet by seq_cst read-modify-write and load (see README.md,
// handshakes).
#pragma once

#include <cstdint>

#include "proto/session_layout.h"

namespace tentq::shm {

struct CreditAmounts {
  std::uint64_t owners = 0;
  std::uint64_t bytes = 0;
  std::uint64_t extents = 0;
  constexpr bool operator==(const CreditAmounts&) const = default;
};

// Client side; thread-safe.
class CreditSpender {
 public:
  CreditSpender() = default;
  CreditSpender(CreditCounters* consumed, const CreditCounters* granted, CreditWish* wish)
      : consumed_(consumed), granted_(granted), wish_(wish) {}
  // Adds to consumed, reads granted again; over it: undoes and returns false. Never waits. Threads
  // that spend at once may each be refused what one of them alone would get; never the reverse.
  bool spend(const CreditAmounts& amounts);
  // Asks for the line that spend() will write; a hint.
  void prefetch() const { __builtin_prefetch(consumed_, 1); }
  // Gives back what spend() took and no cell was published for.
  void unspend(const CreditAmounts& amounts);
  // What could be spent now.
  CreditAmounts available() const;
  // States what a refused call needs. The caller raises `published` and rings the doorbell.
  // While another thread states its own, nothing changes: who waits asks again after each change.
  void wish(const CreditAmounts& amounts);
  // Around submit_wait: threads that wait keep the wish alive.
  void begin_waiting();
  void end_waiting();

 private:
  CreditCounters* consumed_ = nullptr;
  const CreditCounters* granted_ = nullptr;
  CreditWish* wish_ = nullptr;
};

// Daemon side; one thread.
class CreditGrantor {
 public:
  CreditGrantor() = default;
  CreditGrantor(const CreditCounters* consumed, CreditCounters* granted, const CreditWish* wish)
      : consumed_(consumed), granted_(granted), wish_(wish) {}
  // Stores cumulative grants (raise or lower), seq_cst. After lowering read consumed(): what was
  // consumed before is to be honoured.
  void set_granted(const CreditAmounts& granted);
  // Cumulative consumption, seq_cst. Untrusted: may be anything.
  CreditAmounts consumed() const;
  struct Wish {
    CreditAmounts amounts;
    bool waiting = false;
  };
  // True once for every new wish (serial changed). The amounts are untrusted.
  bool take_wish(Wish* wish);
  // Whether a thread of the client still waits. Untrusted.
  bool still_waiting() const { return wish_->waiting.load(std::memory_order_relaxed) != 0; }

 private:
  const CreditCounters* consumed_ = nullptr;
  CreditCounters* granted_ = nullptr;
  const CreditWish* wish_ = nullptr;
  std::uint64_t seen_serial_ = 0;
};

namespace detail {

// Takes `amount` of one counter, or leaves it as it was.
// Partner: CreditGrantor::set_granted, then consumed(). Both sides write first and read second,
// seq_cst: weaker, the client could read a grant from before it was lowered while the daemon reads
// a consumption from before it was raised, and the same credit would be used twice.
inline bool spend_one(std::atomic<std::uint64_t>& consumed,
                      const std::atomic<std::uint64_t>& granted, std::uint64_t amount) {
  if (amount == 0) return true;
  const std::uint64_t before = consumed.fetch_add(amount, std::memory_order_seq_cst);
  const std::uint64_t limit = granted.load(std::memory_order_seq_cst);
  if (before <= limit && amount <= limit - before) return true;
  consumed.fetch_sub(amount, std::memory_order_seq_cst);
  return false;
}

// Gives `amount` back. Partner: CreditGrantor::consumed; late visibility only delays a grant.
inline void unspend_one(std::atomic<std::uint64_t>& consumed, std::uint64_t amount) {
  if (amount != 0) consumed.fetch_sub(amount, std::memory_order_seq_cst);
}

}  // namespace detail

inline bool CreditSpender::spend(const CreditAmounts& amounts) {
  // A look first: what plainly does not fit never shows in `consumed`, not even for a moment.
  const CreditAmounts now = available();
  if (amounts.owners > now.owners || amounts.bytes > now.bytes || amounts.extents > now.extents) {
    return false;
  }
  if (!detail::spend_one(consumed_->owners, granted_->owners, amounts.owners)) return false;
  if (!detail::spend_one(consumed_->bytes, granted_->bytes, amounts.bytes)) {
    detail::unspend_one(consumed_->owners, amounts.owners);
    return false;
  }
  if (!detail::spend_one(consumed_->extents, granted_->extents, amounts.extents)) {
    detail::unspend_one(consumed_->bytes, amounts.bytes);
    detail::unspend_one(consumed_->owners, amounts.owners);
    return false;
  }
  return true;
}

inline void CreditSpender::unspend(const CreditAmounts& amounts) {
  detail::unspend_one(consumed_->owners, amounts.owners);
  detail::unspend_one(consumed_->bytes, amounts.bytes);
  detail::unspend_one(consumed_->extents, amounts.extents);
}

inline CreditAmounts CreditSpender::available() const {
  // Relaxed: a hint; spend_one decides.
  const auto left = [](const std::atomic<std::uint64_t>& granted,
                       const std::atomic<std::uint64_t>& consumed) {
    const std::uint64_t limit = granted.load(std::memory_order_relaxed);
    const std::uint64_t used = consumed.load(std::memory_order_relaxed);
    return used < limit ? limit - used : 0;
  };
  return {left(granted_->owners, consumed_->owners), left(granted_->bytes, consumed_->bytes),
          left(granted_->extents, consumed_->extents)};
}

inline void CreditGrantor::set_granted(const CreditAmounts& granted) {
  // Partner: detail::spend_one; what breaks is said there.
  granted_->owners.store(granted.owners, std::memory_order_seq_cst);
  granted_->bytes.store(granted.bytes, std::memory_order_seq_cst);
  granted_->extents.store(granted.extents, std::memory_order_seq_cst);
}

inline CreditAmounts CreditGrantor::consumed() const {
  return {consumed_->owners.load(std::memory_order_seq_cst),
          consumed_->bytes.load(std::memory_order_seq_cst),
          consumed_->extents.load(std::memory_order_seq_cst)};
}

}  // namespace tentq::shm
