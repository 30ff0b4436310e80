// A decorator that makes the lanes of any transport behave as links of a given rate: each lane is a
// single server, chunks are served in the order posted, and a completion is not reported before the
// chunk's service time, bytes / rate after the later of its posting and the end of the one before.
// The inner transport moves the bytes, from the moment at which their service begins.
// For tests, benchmarks and capping. Conductor thread only; rates in bytes per second.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "transports/paced/pace_clock.h"
#include "transports/paced/paced_chunks.h"
#include "transports/transport.h"
#include "transports/wakeup_fd.h"

namespace tentq {

struct PacedOptions {
  std::uint64_t bytes_per_second = 0;  // of each lane, at least 1
  // Most chunks accepted and not yet polled; more are refused as `saturated`. At least 1. A policy
  // without windows hands over everything at once, so it is larger than that of other transports.
  std::uint32_t queue_chunks = 65'536;
};

class PacedTransport final : public Transport {
 public:
  // `inner` and `clock` outlive it and are used through it alone. Throws std::invalid_argument for
  // options out of range, std::system_error when no fd can be made.
  PacedTransport(Transport* inner, PaceClock* clock, PacedOptions options);
  ~PacedTransport() override;
  PacedTransport(const PacedTransport&) = delete;
  PacedTransport& operator=(const PacedTransport&) = delete;

  std::string_view name() const override { return inner_->name(); }
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  // A chunk that waits ends at once, and those behind it move up. One in service is canceled in the
  // inner transport and ends at its time: its place on the link is spent.
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override { return any_fd_; }

  std::uint64_t bytes_per_second() const { return options_.bytes_per_second; }
  // Accepted and not yet handed to the inner transport.
  std::uint64_t waiting() const { return waiting_; }

 private:
  void advance(Time now);
  bool serve_due(Time now);
  bool serve_lane(PacedLane& lane, Time now);
  void collect();
  bool reportable(const PacedLane& lane, Time now) const;
  bool any_reportable(Time now) const;
  bool watch_for_next(Time now);
  void disarm();

  Transport* inner_;
  PaceClock* clock_;
  PacedOptions options_;
  PacedChunks chunks_;
  std::vector<Completion> ended_here_;  // canceled while they waited, or refused by the inner one
  std::uint64_t waiting_ = 0;
  std::size_t next_lane_ = 0;  // lanes take turns in poll()
  bool armed_ = false;
  bool alarm_set_ = false;
  bool inner_full_ = false;  // it refused a chunk since it was polled last
  WakeupFd own_wakeup_;      // for chunks that end in here
  int any_fd_ = -1;          // an epoll fd over the clock's, the inner one's and ours
};

}  // namespace tentq
