// What the tests of transports share: two regions of memory and a loop that drives a transport as
// the conductor does. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "transports/transport.h"

namespace tentq::test {

// Anonymous shared memory, populated.
class Region {
 public:
  explicit Region(std::size_t size);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> at(std::uint64_t offset, std::uint64_t length) const {
    return {data_ + offset, length};
  }

 private:
  std::byte* data_;
  std::size_t size_;
};

// Bytes that follow from the seed and their place.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
bool has_pattern(std::span<const std::byte> bytes, std::uint64_t seed);

// Whether the fd becomes readable; waits at most ten seconds, or not at all.
bool becomes_readable(int fd);
bool is_readable(int fd);

// Two regions, "local" and "remote", of `bytes` each, and the transport between them.
class Rig {
 public:
  Rig(std::unique_ptr<Transport> transport, std::size_t bytes);

  // A chunk with an id of its own.
  Chunk chunk(Op op, std::uint64_t local_offset, std::uint64_t remote_offset, std::uint64_t length,
              bool resident = false);
  std::span<std::byte> source_of(const Chunk& chunk) const;
  std::span<std::byte> target_of(const Chunk& chunk) const;

  // Posts all, polling while the transport is saturated. Fails the test on any other refusal.
  void post_all(std::span<const Chunk> chunks);
  // One poll; records what came.
  std::size_t poll_once();
  // Until so many completions were seen in all, sleeping on the wakeup fd as the conductor does.
  // False, and a test failure, when a sleep is not ended within ten seconds.
  bool run_until(std::size_t completions);

  std::size_t seen() const { return seen_; }
  // How often a chunk's completion was seen, and the last one.
  int times_seen(const ChunkId& id) const;
  Completion completion_of(const ChunkId& id) const;
  // All chunks completed exactly once, as done, with all their bytes.
  void expect_all_done(std::span<const Chunk> chunks) const;

  Transport& transport() { return *transport_; }
  void destroy_transport() { transport_.reset(); }

  Region local;
  Region remote;

 private:
  struct Seen {
    int times = 0;
    Completion last;
  };

  std::unique_ptr<Transport> transport_;
  std::uint32_t next_ordinal_ = 0;
  std::size_t seen_ = 0;
  std::map<ChunkId, Seen> by_id_;
};

}  // namespace tentq::test
