// The stages of a request, one function each.
#include "tests/bench/replay/job.h"

#include <cstdio>
#include <limits>

#include "proto/check.h"
#include "tests/bench/pattern.h"

namespace tentq::bench {
namespace {

constexpr std::uint64_t kShownErrors = 10;  // verify errors described on standard error

void report_error(EngineParts& engine, const BlockMove& move, const Pattern& pattern) {
  if (++engine.totals.verify_errors > kShownErrors) return;
  const ReplayOptions& options = engine.replay.options;
  const std::span<std::byte> bytes = engine.buffer(move.buffer);
  std::fprintf(stderr, "block %llu from %s at %llu: wrong bytes from %zu on\n",
               static_cast<unsigned long long>(move.placed.block),
               store_name(store_of(options, move.placed.place)).c_str(),
               static_cast<unsigned long long>(offset_of(options, move.placed.place)),
               pattern.first_difference(bytes));
}

}  // namespace

BufferPool::BufferPool(std::uint32_t count) {
  for (std::uint32_t buffer = count; buffer-- > 0;) free_.push_back(buffer);
}

std::uint32_t BufferPool::take() {
  TENTQ_CHECK(!free_.empty());
  const std::uint32_t buffer = free_.back();
  free_.pop_back();
  return buffer;
}

Job Job::request(EngineParts& engine, BufferPool& buffers, std::uint32_t index) {
  Job job;
  job.index_ = index;
  const Plan plan = engine.replay.directory.plan(engine.replay.trace[index].blocks);
  for (const Placed& placed : plan.hits) job.hits_.push_back({placed, buffers.take()});
  for (const Placed& placed : plan.misses) job.misses_.push_back({placed, buffers.take()});
  engine.totals.blocks_skipped += plan.skipped;
  return job;
}

Job Job::look_ahead(EngineParts& engine, BufferPool& buffers, std::uint32_t index) {
  Job job;
  job.index_ = index;
  job.ahead_ = true;
  for (const std::uint64_t block : engine.replay.trace[index].blocks) {
    if (job.hits_.size() == engine.replay.options.prefetch || buffers.available() == 0) break;
    if (const auto placed = engine.replay.directory.hold(block)) {
      job.hits_.push_back({*placed, buffers.take()});
    }
  }
  return job;
}

bool Job::step(EngineParts& engine, BufferPool& buffers, std::int64_t now_ns) {
  switch (stage_) {
    case JobStage::awaiting_blocks: return await_blocks(engine, buffers);
    case JobStage::reading: return read(engine, now_ns);
    case JobStage::verifying: return verify(engine, buffers);
    case JobStage::filling: return fill(engine);
    case JobStage::writing: return write(engine, buffers, now_ns);
    case JobStage::done: return false;
  }
  return false;
}

std::int64_t Job::due_ns() const {
  if (stage_ == JobStage::reading || stage_ == JobStage::writing) return call_.due_ns();
  return std::numeric_limits<std::int64_t>::max();
}

// A hit that another request still writes is waited for; that request was entered into the
// directory before this one, so no two wait for each other.
bool Job::await_blocks(EngineParts& engine, BufferPool& buffers) {
  for (const BlockMove& move : hits_) {
    if (engine.replay.directory.state(move.placed) == PlaceState::writing) return false;
  }
  for (const BlockMove& move : hits_) {
    if (engine.replay.directory.state(move.placed) == PlaceState::ready) {
      poison(engine.buffer(move.buffer));
      ready_.push_back(move);
    } else {  // its write failed
      engine.replay.directory.release(move.placed);
      buffers.give(move.buffer);
    }
  }
  hits_.clear();
  call_ = BlockCall(Opcode::read, ahead_ ? Class::prefetch : Class::foreground, std::move(ready_));
  stage_ = JobStage::reading;
  return true;
}

bool Job::read(EngineParts& engine, std::int64_t now_ns) {
  if (!call_.step(engine, now_ns)) return false;
  if (!ahead_ && !call_.moves().empty() && call_.took_ns() > 0) {
    engine.replay.foreground_us[index_] = static_cast<double>(call_.took_ns()) / 1e3;
  }
  stage_ = JobStage::verifying;
  cursor_ = 0;
  return true;
}

bool Job::verify(EngineParts& engine, BufferPool& buffers) {
  const std::span<BlockMove> moves = call_.moves();
  for (std::size_t i = 0; i < kBlocksPerStep && cursor_ < moves.size(); ++i, ++cursor_) {
    const BlockMove& move = moves[cursor_];
    if (move.moved) {
      const Pattern pattern(engine.replay.seed, move.placed.block);
      if (!pattern.matches(engine.buffer(move.buffer))) report_error(engine, move, pattern);
      ++(ahead_ ? engine.totals.blocks_prefetched : engine.totals.blocks_read);
    }
    engine.replay.directory.release(move.placed);
    buffers.give(move.buffer);
  }
  if (cursor_ == moves.size()) {
    stage_ = JobStage::filling;
    cursor_ = 0;
  }
  return true;
}

bool Job::fill(EngineParts& engine) {
  for (std::size_t i = 0; i < kBlocksPerStep && cursor_ < misses_.size(); ++i, ++cursor_) {
    const BlockMove& move = misses_[cursor_];
    Pattern(engine.replay.seed, move.placed.block).fill(engine.buffer(move.buffer));
  }
  if (cursor_ == misses_.size()) {
    call_ = BlockCall(Opcode::write, Class::background, std::move(misses_));
    stage_ = JobStage::writing;
  }
  return true;
}

bool Job::write(EngineParts& engine, BufferPool& buffers, std::int64_t now_ns) {
  if (!call_.step(engine, now_ns)) return false;
  for (const BlockMove& move : call_.moves()) {
    if (move.moved) {
      engine.replay.directory.finish_write(move.placed);
      ++engine.totals.blocks_written;
    } else {
      engine.replay.directory.fail_write(move.placed);
    }
    buffers.give(move.buffer);
    finished_writes_ = true;
  }
  finish(engine, now_ns);
  return true;
}

void Job::finish(EngineParts& engine, std::int64_t now_ns) {
  stage_ = JobStage::done;
  if (ahead_) return;
  engine.totals.last_ns = now_ns;
  engine.totals.requests.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tentq::bench
