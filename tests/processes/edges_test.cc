// Requests at the edges: empty, zero, overlapping, beyond 2^31 and 2^32, sums that wrap, memory
// that is not registered, and calls of which some fail. Refused at once or ended with the exact
// reason; never half done, never a fault of the daemon.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "shm/memory.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using std::byte;

class Edges : public DaemonFixture {
 protected:
  // The code that submit() refuses this request with; the batch must be as before.
  Code refusal(Client& client, const Request& request) {
    Batch batch = need(client.allocate_batch(4), "allocate_batch");
    const Status status = client.submit(batch, std::span(&request, 1));
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(status.text().empty());
    EXPECT_EQ(batch.tasks(), 0u);
    EXPECT_EQ(batch.status(0).state, State::invalid);
    EXPECT_TRUE(batch.done());
    client.free_batch(batch);
    return status.code();
  }
};

TEST_F(Edges, AnEmptyCallIsOkAndDoesNothing) {
  start();
  Client client = attach(socket(), "engine");
  Batch batch = need(client.allocate_batch(1), "allocate_batch");
  EXPECT_TRUE(client.submit(batch, {}).ok());
  EXPECT_EQ(batch.tasks(), 0u);
  EXPECT_TRUE(batch.done());
  EXPECT_EQ(batch.overall().state, State::completed);
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_TRUE(client.wait_verdict(batch, kLong).ok());
  EXPECT_EQ(counters().at("enqueued"), 0);
}

TEST_F(Edges, LengthZeroIsInvalidAtOnce) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  EXPECT_EQ(refusal(client, write_to(segment, 0, memory.bytes().first(0))), Code::invalid_argument);
  // One of many: nothing of the call is visible.
  std::vector<Request> requests(3, write_to(segment, 0, memory.bytes().first(16)));
  requests[1].length = 0;
  Batch batch = need(client.allocate_batch(4), "allocate_batch");
  EXPECT_EQ(client.submit(batch, requests).code(), Code::invalid_argument);
  EXPECT_EQ(batch.tasks(), 0u);
  EXPECT_EQ(counters().at("enqueued"), 0);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Edges, ZeroBytesCannotBeAllocatedOrRegistered) {
  start();
  Client client = attach(socket(), "engine");
  EXPECT_EQ(client.allocate(0).status().code(), Code::invalid_argument);
  Memory memory = need(client.allocate(4_KiB, {.registered = false}), "allocate");
  EXPECT_EQ(client.register_memory(memory.data(), 0).status().code(), Code::invalid_argument);
  EXPECT_EQ(ask(QueryKind::status).at("regions"), 0);
  EXPECT_TRUE(client.register_memory(memory.data(), 4_KiB).ok());
}

TEST_F(Edges, SourceAndTargetThatOverlapAreInvalid) {
  start();
  Client client = attach(socket(), "self");
  Memory memory = allocate_at(client, 64_KiB);
  const Segment own = need(client.open_segment("self"), "open_segment");
  fill_pattern(memory.bytes(), 1);
  const std::span<byte> bytes = memory.bytes();
  EXPECT_EQ(refusal(client, write_to(own, 0, bytes.first(4_KiB))), Code::invalid_argument);
  EXPECT_EQ(refusal(client, write_to(own, 4_KiB - 1, bytes.first(4_KiB))), Code::invalid_argument);
  EXPECT_EQ(refusal(client, read_from(own, 0, bytes.subspan(1, 4_KiB))), Code::invalid_argument);
  EXPECT_EQ(pattern_differences(memory.bytes(), 1), 0u);
  must_complete(client, write_to(own, 4_KiB, bytes.first(4_KiB)));  // neighbours do not overlap
}

TEST_F(Edges, OverlappingRequestsOfOneCallAllComplete) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  store.fill(2, 0, 64_KiB);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 100; ++i) {
    requests.push_back(read_from(segment, i * 64, memory.bytes().subspan(i * 64, 4_KiB)));
  }
  EXPECT_EQ(transfer(client, requests).completed, 100u);
  EXPECT_EQ(pattern_differences(memory.bytes().first(99 * 64 + 4_KiB), 2), 0u);
  EXPECT_EQ(store.stop(), 0);
}

constexpr std::uint64_t kEdges[] = {(std::uint64_t{1} << 31) - 1,
                                    std::uint64_t{1} << 31,
                                    (std::uint64_t{1} << 32) - 1,
                                    std::uint64_t{1} << 32,
                                    (std::uint64_t{1} << 32) + 1,
                                    std::uint64_t{1} << 63,
                                    std::numeric_limits<std::uint64_t>::max() - 15,
                                    std::numeric_limits<std::uint64_t>::max()};

TEST_F(Edges, LengthsBeyondTheMemoryAreRefusedAtOnce) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  for (const std::uint64_t length : kEdges) {
    for (const Opcode op : {Opcode::read, Opcode::write}) {
      const Request request{op, memory.data(), segment, 0, length};
      const Code code = refusal(client, request);
      EXPECT_TRUE(code == Code::invalid_argument || code == Code::too_large)
          << to_string(code) << " for " << length;
      EXPECT_FALSE(may_retry(code));
    }
  }
  EXPECT_EQ(counters().at("enqueued"), 0);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Edges, OffsetsBeyondTheSegmentEndOutOfRange) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::vector<std::uint64_t> offsets(std::begin(kEdges), std::end(kEdges));
  offsets.insert(offsets.end(), {1_MiB, 1_MiB - 15, 1_MiB + 1});
  for (const std::uint64_t offset : offsets) {
    const Request request{Opcode::write, memory.data(), segment, offset, 16};
    if (offset > std::numeric_limits<std::uint64_t>::max() - 16) {
      EXPECT_EQ(refusal(client, request), Code::invalid_argument) << offset;
      continue;
    }
    Batch batch = need(client.allocate_batch(1), "allocate_batch");
    need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
    need(batch.wait(kLong), "wait");
    EXPECT_EQ(batch.status(0).state, State::failed) << offset;
    EXPECT_EQ(batch.status(0).reason, TaskReason::out_of_range) << offset;
    EXPECT_FALSE(batch.status(0).may_retry());
    EXPECT_EQ(batch.status(0).bytes, 0u);
    client.free_batch(batch);
  }
  must_complete(client, write_to(segment, 1_MiB - 16, memory.bytes().first(16)));
  EXPECT_EQ(counters().at("transferred_bytes"), 16);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Edges, OffsetsAroundTwoToThe31And32AreExact) {
  start({{"memory", {{"allow_sparse", true}}}});
  constexpr std::size_t kBytes = 5_GiB;
  const shm::Fd fd(::memfd_create("tentq-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_TRUE(fd.valid());
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(kBytes)), 0);
  ASSERT_EQ(shm::seal_shrink(fd.get()), 0);
  void* address =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  ASSERT_NE(address, MAP_FAILED);
  const std::span<byte> big(static_cast<byte*>(address), kBytes);
  {
    Client owner = attach(socket(), "big");
    need(owner.register_fd(fd.get(), 0, kBytes, address, {}, {.segment_offset = 0, .sparse = true}),
         "register_fd");
    Client client = attach(socket(), "engine");
    const Segment segment = need(client.open_segment("big"), "open_segment");
    Memory memory = allocate_at(client, 64_KiB);
    std::uint64_t seed = 10;
    for (const std::uint64_t edge : {2_GiB, 4_GiB}) {
      for (const std::uint64_t offset : {edge - 8_KiB, edge - 1, edge, edge + 1}) {
        fill_pattern(memory.bytes().first(8_KiB), ++seed);
        must_complete(client, write_to(segment, offset, memory.bytes().first(8_KiB)));
        EXPECT_EQ(pattern_differences(big.subspan(offset, 8_KiB), seed), 0u) << offset;
        must_complete(client, read_from(segment, offset, memory.bytes().subspan(8_KiB, 8_KiB)));
        EXPECT_EQ(pattern_differences(memory.bytes().subspan(8_KiB, 8_KiB), seed), 0u) << offset;
      }
    }
  }
  ::munmap(address, kBytes);
}

TEST_F(Edges, ASegmentMayReachTheEndOfItsAddressSpace) {
  start();
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  Client owner = attach(socket(), "high");
  Memory high = allocate_at(owner, 4_KiB, kLast - 4_KiB);
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("high"), "open_segment");
  Memory memory = allocate_at(client, 4_KiB);
  fill_pattern(memory.bytes(), 1);
  must_complete(client, write_to(segment, kLast - 4_KiB, memory.bytes()));
  EXPECT_EQ(pattern_differences(high.bytes(), 1), 0u);
  EXPECT_EQ(refusal(client, write_to(segment, kLast - 16, memory.bytes().first(64))),
            Code::invalid_argument);
}

TEST_F(Edges, MemoryThatIsNotRegisteredIsInvalidAtOnce) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::vector<byte> heap(4_KiB);
  EXPECT_EQ(refusal(client, write_to(segment, 0, heap)), Code::invalid_argument);
  const Request null{Opcode::read, nullptr, segment, 0, 16};
  EXPECT_EQ(refusal(client, null), Code::invalid_argument);
  const Request device{Opcode::read, reinterpret_cast<void*>(0x7f00'0000'0000), segment, 0, 16};
  EXPECT_EQ(refusal(client, device), Code::invalid_argument);
  // One byte over the end of a registered range.
  const Request over{Opcode::read, memory.data() + memory.size() - 15, segment, 0, 16};
  EXPECT_EQ(refusal(client, over), Code::invalid_argument);
  const Request nowhere{Opcode::read, memory.data(), SegmentId::none, 0, 16};
  EXPECT_EQ(refusal(client, nowhere), Code::invalid_argument);
  const Request unknown{Opcode::read, memory.data(), SegmentId{999}, 0, 16};
  EXPECT_EQ(refusal(client, unknown), Code::invalid_argument);
  // A range that was registered once.
  need(client.unregister(memory.region()), "unregister");
  EXPECT_EQ(refusal(client, read_from(segment, 0, memory.bytes().first(16))),
            Code::invalid_argument);
  EXPECT_EQ(counters().at("enqueued"), 0);
  EXPECT_EQ(store.stop(), 0);
}

// Of a thousand tasks three fail for three reasons; all others are right.
TEST_F(Edges, EveryTaskOfABatchKeepsItsOwnOutcome) {
  // A narrow lane, so that a deadline passes while its task is queued.
  start({{"shm", {{"window_bytes", "64KiB"}, {"window_chunks", 1}, {"chunk_bytes", "64KiB"}}},
         {"policy", "fifo"}});
  constexpr std::size_t kTasks = 1'000;
  constexpr std::size_t kBlock = 512;
  Exporter store(socket());
  Exporter dead(socket(), {.name = "dead", .bytes = 64_KiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  const Segment gone = need(client.open_segment("dead"), "open_segment");
  dead.kill();
  dead.join();
  ASSERT_TRUE(eventually(kLong, [&] { return client_row("dead").is_null(); }));
  store.fill(4, 0, 1_MiB);
  Memory memory = allocate_at(client, kTasks * kBlock);
  Memory much = allocate_at(client, 1_MiB, 1_GiB);
  const std::vector<Request> bulk(32, read_from(segment, 0, much.bytes()));
  Batch ahead = need(client.allocate_batch(32), "allocate_batch");
  Batch batch = need(client.allocate_batch(kTasks), "allocate_batch");
  for (std::size_t i = 0; i < kTasks; ++i) {
    Request request = read_from(segment, i * kBlock, memory.bytes().subspan(i * kBlock, kBlock));
    SubmitOptions options;
    if (i == 17) request.remote_offset = 1_MiB;
    if (i == 500) request.segment = gone;
    if (i == 900) {
      options.deadline = std::chrono::nanoseconds{1};
      need(client.submit_wait(ahead, bulk, {}, kLong), "bulk");
    }
    need(client.submit_wait(batch, std::span(&request, 1), options, kLong), "submit");
  }
  need(batch.wait(kLong), "wait");
  const BatchStatus overall = batch.overall();
  EXPECT_EQ(overall.state, State::failed);
  EXPECT_EQ(overall.pending, 0u);
  EXPECT_EQ(overall.completed, kTasks - 3);
  EXPECT_EQ(overall.failed, 2u);
  EXPECT_EQ(overall.timeout, 1u);
  EXPECT_EQ(batch.status(17).reason, TaskReason::out_of_range);
  EXPECT_EQ(batch.status(500).reason, TaskReason::peer_lost);
  EXPECT_EQ(batch.status(900).state, State::timeout);
  EXPECT_EQ(batch.status(900).reason, TaskReason::deadline);
  for (std::size_t i = 0; i < kTasks; ++i) {
    if (i == 17 || i == 500 || i == 900) continue;
    ASSERT_EQ(batch.status(static_cast<TaskId>(i)).state, State::completed) << i;
    ASSERT_EQ(pattern_differences(memory.bytes().subspan(i * kBlock, kBlock), 4, i * kBlock), 0u)
        << i;
  }
  client.free_batch(batch);
  client.free_batch(batch);  // twice is harmless
  EXPECT_EQ(store.stop(), 0);
}

// An owner that can never fit the window as a whole must not stop its class or those below it.
TEST_F(Edges, OwnersAroundTheWindowsSizeDoNotBlockWhatIsBehind) {
  start({{"shm", {{"window_bytes", "1MiB"}, {"chunk_bytes", "64KiB"}}}, {"policy", "strict"}});
  Exporter store(socket(), {.bytes = 64_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_MiB);
  for (const std::size_t length : {1_MiB - 1, 1_MiB, 1_MiB + 1, 64_MiB - 64_KiB}) {
    Batch batch = need(client.allocate_batch(2), "allocate_batch");
    const Request large = write_to(segment, 0, memory.bytes().first(length));
    const Request small = write_to(segment, length, memory.bytes().subspan(length, 64));
    need(client.submit(batch, std::span(&large, 1), {.cls = Class::foreground}), "large");
    need(client.submit(batch, std::span(&small, 1), {.cls = Class::background}), "small");
    EXPECT_TRUE(batch.wait(kLong).ok());
    EXPECT_EQ(batch.overall().completed, 2u) << length;
    client.free_batch(batch);
  }
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
