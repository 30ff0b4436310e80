// Copies between mapped regions of two clients of this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "transports/transport.h"

namespace tentq {

struct ShmOptions {
  std::uint32_t workers = 0;               // copying threads; 0: min(4, cores − 1), at least 1
  std::uint32_t inline_bytes = 16u << 10;  // largest chunk copied on the conductor
  std::uint32_t inline_turn_bytes = 64u << 10;  // most copied on the conductor between two polls
  std::uint32_t queue_chunks = 4096;            // most chunks accepted and not yet polled
};

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(ShmOptions options = {});
  ~ShmTransport() override;
  ShmTransport(const ShmTransport&) = delete;
  ShmTransport& operator=(const ShmTransport&) = delete;

  std::string_view name() const override { return "shm"; }
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override;

  // Copying threads that run.
  std::uint32_t workers() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tentq
