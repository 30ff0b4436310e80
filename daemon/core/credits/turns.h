// Which sender gets the next credit: those first that have nothing to go on with, in rotation; then
// classes by weight and, inside a class, senders in rotation, by deficit round robin. Conductor
// thread. Bytes.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/core/member_set.h"
#include "proto/classes.h"

namespace tentq::core {

// The rules of the picker (picker.h), on what was told: the picker itself chooses among owners that
// it can see, one lane's window at a time. Here there is no window between the classes and no
// owner.
class CreditTurns {
 public:
  CreditTurns(std::uint32_t senders, const std::array<std::uint32_t, kMaxClasses>& weights,
              std::uint64_t quantum);

  void set_hungry(std::uint32_t sender, bool hungry) { set(kHungry, sender, hungry); }
  void set_wanting(std::uint32_t sender, std::uint32_t cls, bool wanting) {
    set(cls, sender, wanting);
  }
  bool is_hungry(std::uint32_t sender) const { return members_.has(kHungry, sender); }
  bool is_wanting(std::uint32_t sender, std::uint32_t cls) const {
    return members_.has(cls, sender);
  }
  bool anybody() const { return members_count_ != 0; }
  std::uint32_t wanting(std::uint32_t cls) const { return counts_[cls]; }

  // The hungry one whose turn it is; kNone: none is. Stays until it was fed.
  std::uint32_t next_hungry() const;
  void fed(std::uint32_t sender);
  struct Turn {
    std::uint32_t sender = kNone;
    std::uint32_t cls = 0;
  };
  // Whose turn it is to get more; sender kNone: nobody wants anything. Stays until it is paid.
  Turn next();
  void pay(const Turn& turn, std::uint64_t bytes);

  std::uint64_t hash(std::uint64_t seed) const;

 private:
  static constexpr std::uint32_t kHungry = kMaxClasses;  // the row behind the classes'

  void set(std::uint32_t row, std::uint32_t sender, bool member);
  // The row's member at or behind the cursor; kNone: it has none.
  std::uint32_t next_in(std::uint32_t row, std::uint32_t cursor) const;

  std::uint32_t senders_;
  MemberSets members_;  // [class or hungry][sender]
  std::array<std::uint32_t, kMaxClasses + 1> counts_{};
  std::uint32_t members_count_ = 0;
  std::array<std::int64_t, kMaxClasses> quanta_{};  // weight × S
  std::array<std::int64_t, kMaxClasses> deficits_{};
  std::array<std::uint32_t, kMaxClasses> cursors_{};
  std::uint32_t hungry_ = 0;
  std::uint32_t cls_ = 0;  // whose turn it is
};

}  // namespace tentq::core
