// One request of the trace on its way: read what the Stores hold, verify it, then write what is
// new. And the look-ahead's job, which only reads. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/bench/replay/block_call.h"

namespace tentq::bench {

// Free buffers of an engine, by index.
class BufferPool {
 public:
  explicit BufferPool(std::uint32_t count);
  std::size_t available() const { return free_.size(); }
  std::uint32_t take();  // some must be available
  void give(std::uint32_t buffer) { free_.push_back(buffer); }

 private:
  std::vector<std::uint32_t> free_;
};

// A few blocks verified or filled in one step, so that a long request does not hold up others.
inline constexpr std::size_t kBlocksPerStep = 4;

enum class JobStage : std::uint8_t { awaiting_blocks, reading, verifying, filling, writing, done };

class Job {
 public:
  // Enters the request's blocks into the directory and takes a buffer for each; as many must be
  // available. `index`: of the request in the trace.
  static Job request(EngineParts& engine, BufferPool& buffers, std::uint32_t index);
  // Reads up to options.prefetch of the request's blocks that the Stores hold now, as prefetch.
  static Job look_ahead(EngineParts& engine, BufferPool& buffers, std::uint32_t index);

  // Goes as far as it can without waiting; true if it got anywhere.
  bool step(EngineParts& engine, BufferPool& buffers, std::int64_t now_ns);
  bool done() const { return stage_ == JobStage::done; }
  // As BlockCall::due_ns().
  std::int64_t due_ns() const;
  // True once after blocks became ready (or failed) for others.
  bool take_finished_writes() { return std::exchange(finished_writes_, false); }

 private:
  Job() = default;
  bool await_blocks(EngineParts& engine, BufferPool& buffers);
  bool read(EngineParts& engine, std::int64_t now_ns);
  bool verify(EngineParts& engine, BufferPool& buffers);
  bool fill(EngineParts& engine);
  bool write(EngineParts& engine, BufferPool& buffers, std::int64_t now_ns);
  void finish(EngineParts& engine, std::int64_t now_ns);

  std::uint32_t index_ = 0;
  bool ahead_ = false;
  JobStage stage_ = JobStage::awaiting_blocks;
  std::vector<BlockMove> hits_;    // not yet known to be ready
  std::vector<BlockMove> ready_;   // to be read
  std::vector<BlockMove> misses_;  // to be filled and written
  BlockCall call_;
  std::size_t cursor_ = 0;
  bool finished_writes_ = false;
};

}  // namespace tentq::bench
