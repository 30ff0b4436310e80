// A transport without threads for tests and simulations: chunks wait in the order of posting and
// are copied by poll(), so a run depends on the calls alone. Conductor thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "transports/transport.h"
#include "transports/wakeup_fd.h"

namespace tentq {

struct FakeOptions {
  // Most chunks accepted and not yet polled; more are refused as `saturated`. 0: no bound.
  std::uint32_t capacity_chunks = 0;
  // Most completions that one poll() makes. 0: as many as it is asked for.
  std::uint32_t completions_per_poll = 0;
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(FakeOptions options = {}) : options_(options) {}

  std::string_view name() const override { return "fake"; }
  PostOutcome post(std::span<const Chunk> chunks) override;
  // Copies, then reports; a chunk without a mapping ends as memory_fault.
  std::size_t poll(std::span<Completion> completions) override;
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override { return wakeup_.fd(); }

  // Accepted and not yet polled.
  std::size_t pending_chunks() const { return pending_.size(); }

 private:
  struct Pending {
    Chunk chunk;
    bool canceled = false;
  };

  FakeOptions options_;
  std::deque<Pending> pending_;
  WakeupFd wakeup_;
};

}  // namespace tentq
