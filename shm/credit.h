// Admission credit of one class, from both sides. STA holds cumulative grants, REQ cumulative
// consumption; the two sides meet by seq_cst read-modify-write and load (see README.md, handshakes).
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
  CreditSpender(CreditCounters* consumed, const CreditCounters* granted, CreditWish* wish);
  // Adds to consumed, reads granted again; over it: undoes and returns false.
  bool spend(const CreditAmounts& amounts);
  // Gives back what spend() took and no cell was published for.
  void unspend(const CreditAmounts& amounts);
  // What could be spent now.
  CreditAmounts available() const;
  // States what a refused call needs. The caller raises `published` and rings the doorbell.
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
  CreditGrantor(const CreditCounters* consumed, CreditCounters* granted, const CreditWish* wish);
  // Stores cumulative grants (raise or lower), seq_cst.
  void set_granted(const CreditAmounts& granted);
  // Cumulative consumption, seq_cst. Untrusted: may be anything.
  CreditAmounts consumed() const;
  struct Wish {
    CreditAmounts amounts;
    bool waiting = false;
  };
  // True once for every new wish (serial changed).
  bool take_wish(Wish* wish);

 private:
  const CreditCounters* consumed_ = nullptr;
  CreditCounters* granted_ = nullptr;
  const CreditWish* wish_ = nullptr;
  std::uint64_t seen_serial_ = 0;
};

}  // namespace tentq::shm
