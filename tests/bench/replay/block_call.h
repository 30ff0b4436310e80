// The move of a set of blocks between an engine's buffers and the Stores: one submit (or a few, if
// it is longer than the largest call), repeated while it is refused for now. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <tentq/tentq.hpp>
#include <vector>

#include "tests/bench/replay/setup.h"

namespace tentq::bench {

// What calls need of their engine.
struct EngineParts {
  Replay& replay;
  EngineTotals& totals;
  Client& client;
  std::vector<Segment>& stores;
  std::byte* memory;  // buffers, one block each

  std::span<std::byte> buffer(std::uint32_t index) const {
    return {memory + index * replay.options.block, replay.options.block};
  }
};

struct BlockMove {
  Placed placed;
  std::uint32_t buffer = 0;
  bool moved = false;  // completed; else it is lost once the call is done
};

class BlockCall {
 public:
  BlockCall() = default;
  BlockCall(Opcode op, Class cls, std::vector<BlockMove> moves)
      : op_(op), cls_(cls), moves_(std::move(moves)) {}

  // Submits what is due, looks at what is outstanding. True once nothing more will happen.
  bool step(EngineParts& engine, std::int64_t now_ns);
  // When step() has something to do without a completion; INT64_MAX: only after one.
  std::int64_t due_ns() const;

  std::span<BlockMove> moves() { return moves_; }
  // From before the first submit until the last block was moved; 0 if none was.
  std::int64_t took_ns() const { return last_ns_ > first_ns_ ? last_ns_ - first_ns_ : 0; }

 private:
  bool submit_rest(EngineParts& engine, std::int64_t now_ns);
  void finish_attempt(EngineParts& engine, std::int64_t now_ns);
  void back_off(std::int64_t now_ns);
  Request request_of(EngineParts& engine, const BlockMove& move) const;

  Opcode op_ = Opcode::read;
  Class cls_ = Class::standard;
  std::vector<BlockMove> moves_;
  std::vector<std::uint32_t> attempt_;  // moves of the running attempt, in order of its tasks
  std::size_t submitted_ = 0;           // of attempt_
  bool started_ = false;
  bool refused_ = false;  // the next submit repeats one
  bool away_ = false;     // that found no daemon
  std::uint32_t attempts_ = 0;
  Batch batch_;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t not_before_ns_ = 0;
  std::int64_t backoff_ns_ = 0;
};

}  // namespace tentq::bench
