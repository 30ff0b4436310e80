// Who acts next in virtual time: each actor is due at one time or not at all. Among those that are
// due together the one with the lower number goes first, so that a run repeats itself exactly.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "tests/sim/scenario.h"

namespace tentq::sim {

class Agenda {
 public:
  // Returns its number; due never.
  std::uint32_t add() {
    due_.push_back(kNeverNs);
    return static_cast<std::uint32_t>(due_.size() - 1);
  }
  // Replaces what was said before. kNeverNs: not at all.
  void set(std::uint32_t actor, std::int64_t at_ns) {
    if (due_[actor] == at_ns) return;
    due_[actor] = at_ns;
    if (at_ns < kNeverNs) queue_.push({at_ns, actor});
  }
  std::int64_t due_ns(std::uint32_t actor) const { return due_[actor]; }

  struct Turn {
    std::int64_t at_ns = kNeverNs;
    std::uint32_t actor = 0;
    bool operator>(const Turn& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : actor > other.actor;
    }
  };
  // The next one; at_ns is kNeverNs when nobody is due. It stays due until it is set anew.
  Turn next() {
    while (!queue_.empty()) {
      const Turn turn = queue_.top();
      if (due_[turn.actor] == turn.at_ns) return turn;
      queue_.pop();  // it was set anew since
    }
    return {};
  }

 private:
  std::vector<std::int64_t> due_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> queue_;
};

}  // namespace tentq::sim
