// See rig.h.
#include "tests/transports/rig.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tentq::test {
namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e37'79b9'7f4a'7c15u;
  return value ^ (value >> 29);
}

bool readable_within(int fd, int milliseconds) {
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

}  // namespace

Region::Region(std::size_t size)
    : data_(static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))),
      size_(size) {
  if (data_ == MAP_FAILED) throw std::runtime_error("no memory for a region");
}

Region::~Region() {
  munmap(data_, size_);
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = mix(seed * 0x1'0000'0001u + i);
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
  }
}

bool has_pattern(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::vector<std::byte> expected(bytes.size());
  fill_pattern(expected, seed);
  return std::memcmp(expected.data(), bytes.data(), bytes.size()) == 0;
}

bool becomes_readable(int fd) {
  return readable_within(fd, 10'000);
}
bool is_readable(int fd) {
  return readable_within(fd, 0);
}

Rig::Rig(std::unique_ptr<Transport> transport, std::size_t bytes)
    : local(bytes), remote(bytes), transport_(std::move(transport)) {}

Chunk Rig::chunk(Op op, std::uint64_t local_offset, std::uint64_t remote_offset,
                 std::uint64_t length, bool resident) {
  Chunk chunk;
  chunk.id = {OwnerId{next_ordinal_ / 7, 3}, 1, next_ordinal_};
  ++next_ordinal_;
  chunk.op = op;
  chunk.lane = LaneId(0);
  chunk.local = {RegionIndex(0), local_offset, local.data() + local_offset, resident};
  chunk.remote = {RegionIndex(1), remote_offset, remote.data() + remote_offset, resident};
  chunk.length = length;
  return chunk;
}

std::span<std::byte> Rig::source_of(const Chunk& chunk) const {
  return {chunk.op == Op::read ? chunk.remote.mapped : chunk.local.mapped, chunk.length};
}

std::span<std::byte> Rig::target_of(const Chunk& chunk) const {
  return {chunk.op == Op::read ? chunk.local.mapped : chunk.remote.mapped, chunk.length};
}

void Rig::post_all(std::span<const Chunk> chunks) {
  while (!chunks.empty()) {
    const PostOutcome outcome = transport_->post(chunks);
    ASSERT_LE(outcome.accepted, chunks.size());
    ASSERT_EQ(outcome.refusal == PostRefusal::none, outcome.accepted == chunks.size());
    ASSERT_NE(outcome.refusal, PostRefusal::failed);
    chunks = chunks.subspan(outcome.accepted);
    if (!chunks.empty()) poll_once();
  }
}

std::size_t Rig::poll_once() {
  std::array<Completion, 5> completions;
  const std::size_t count = transport_->poll(completions);
  for (std::size_t i = 0; i < count; ++i) {
    Seen& seen = by_id_[completions[i].id];
    ++seen.times;
    seen.last = completions[i];
  }
  seen_ += count;
  return count;
}

bool Rig::run_until(std::size_t completions) {
  while (seen_ < completions) {
    if (poll_once() > 0 || !transport_->arm_wakeup()) continue;
    if (!becomes_readable(transport_->wakeup_fd())) {
      ADD_FAILURE() << "slept over a completion: " << seen_ << " of " << completions << " seen";
      return false;
    }
  }
  return true;
}

int Rig::times_seen(const ChunkId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? 0 : found->second.times;
}

Completion Rig::completion_of(const ChunkId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? Completion{} : found->second.last;
}

void Rig::expect_all_done(std::span<const Chunk> chunks) const {
  for (const Chunk& chunk : chunks) {
    ASSERT_EQ(times_seen(chunk.id), 1) << "chunk " << chunk.id.ordinal;
    const Completion completion = completion_of(chunk.id);
    ASSERT_EQ(completion.outcome, ChunkOutcome::done) << "chunk " << chunk.id.ordinal;
    ASSERT_EQ(completion.bytes, chunk.length) << "chunk " << chunk.id.ordinal;
  }
}

}  // namespace tentq::test
