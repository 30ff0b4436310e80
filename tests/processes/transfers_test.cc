// READ and WRITE between two processes, byte for byte: sizes, offsets, merging, owners far larger
// than the window, a whole call of owners, and a process that copies within itself.
#include <gtest/gtest.h>

#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using std::byte;

constexpr byte kGuard{0xa5};

class Transfers : public DaemonFixture {};

// One piece of a transfer that is checked with the bytes around it.
struct Piece {
  std::size_t length = 0;
  std::size_t offset = 0;  // of both ends, from a multiple of the stride
};

// Writes every piece to the store and reads it back to another alignment, 256 pieces a call.
class RoundTrip {
 public:
  static constexpr std::size_t kStride = 4'480;
  static constexpr std::size_t kPieces = 256;

  RoundTrip(Client& client, SegmentId store) : client_(client), store_(store) {
    memory_ = allocate_at(client, 2 * kPieces * kStride);
  }
  // How many bytes came back wrong, or changed beside the pieces.
  std::uint64_t wrong_bytes(const std::vector<Piece>& pieces, std::uint64_t seed) {
    const std::span<byte> out = memory_.bytes().first(kPieces * kStride);
    const std::span<byte> back = memory_.bytes().subspan(kPieces * kStride, kPieces * kStride);
    fill_pattern(out, seed);
    std::fill(back.begin(), back.end(), kGuard);
    std::vector<Request> writes;
    std::vector<Request> reads;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::size_t at = i * kStride + pieces[i].offset;
      const std::size_t length = pieces[i].length;
      writes.push_back(write_to(store_, at, out.subspan(at, length)));
      reads.push_back(read_from(store_, at, back.subspan(at + kShift, length)));
    }
    EXPECT_EQ(transfer(client_, writes).state, State::completed);
    EXPECT_EQ(transfer(client_, reads).state, State::completed);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::span<byte> stride = back.subspan(i * kStride, kStride);
      const std::size_t begin = pieces[i].offset + kShift;
      const std::size_t end = begin + pieces[i].length;
      wrong += value_differences(stride.first(begin), kGuard);
      wrong += pattern_differences(stride.subspan(begin, pieces[i].length), seed,
                                   i * kStride + pieces[i].offset);
      wrong += value_differences(stride.subspan(end), kGuard);
    }
    return wrong;
  }

 private:
  static constexpr std::size_t kShift = 3;

  Client& client_;
  SegmentId store_;
  Memory memory_;
};

// All pieces in calls of RoundTrip::kPieces.
std::uint64_t wrong_bytes(RoundTrip& trip, const std::vector<Piece>& pieces) {
  std::uint64_t wrong = 0;
  for (std::size_t begin = 0; begin < pieces.size(); begin += RoundTrip::kPieces) {
    const std::size_t end = std::min(begin + RoundTrip::kPieces, pieces.size());
    wrong += trip.wrong_bytes({pieces.begin() + static_cast<std::ptrdiff_t>(begin),
                               pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                              begin + 1);
  }
  return wrong;
}

TEST_F(Transfers, EverySizeUpToAPageArrivesExactly) {
  start();
  Exporter store(socket(), {.bytes = RoundTrip::kPieces * RoundTrip::kStride});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  RoundTrip trip(client, segment);
  std::vector<Piece> pieces;
  for (std::size_t length = 1; length <= 4'200; ++length) {
    for (const std::size_t offset : {0u, 1u, 31u, 64u}) pieces.push_back({length, offset});
  }
  EXPECT_EQ(wrong_bytes(trip, pieces), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Transfers, EveryOffsetInACacheLineIsExact) {
  start();
  Exporter store(socket(), {.bytes = RoundTrip::kPieces * RoundTrip::kStride});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  RoundTrip trip(client, segment);
  std::vector<Piece> pieces;
  for (std::size_t offset = 0; offset <= 64; ++offset) {
    for (std::size_t length = 1; length <= 130; ++length) pieces.push_back({length, offset});
    for (const std::size_t length : {255u, 256u, 257u, 4'095u, 4'096u, 4'097u}) {
      pieces.push_back({length, offset});
    }
  }
  EXPECT_EQ(wrong_bytes(trip, pieces), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Transfers, SizesAroundInlineChunkAndWindowAreExact) {
  start();
  constexpr std::size_t kRoom = 5_MiB;
  Exporter store(socket(), {.bytes = kRoom});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 2 * kRoom);
  std::uint64_t seed = 0;
  for (const std::size_t edge : {16_KiB, 64_KiB, 256_KiB, 512_KiB, 1_MiB, 4_MiB}) {
    for (const std::size_t length : {edge - 1, edge, edge + 1}) {
      for (const std::size_t offset : {0u, 1u, 4'095u}) {
        const std::span<byte> out = memory.bytes().subspan(offset, length);
        const std::span<byte> back = memory.bytes().subspan(kRoom + 7, length);
        fill_pattern(out, ++seed, offset);
        must_complete(client, write_to(segment, offset, out));
        ASSERT_EQ(store.differences(seed, offset, length), 0u) << length << " at " << offset;
        must_complete(client, read_from(segment, offset, back));
        ASSERT_EQ(pattern_differences(back, seed, offset), 0u) << length << " at " << offset;
      }
    }
  }
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Transfers, AnOwnerFarLargerThanTheWindowIsCutAndComplete) {
  start({{"shm", {{"window_bytes", "1MiB"}, {"chunk_bytes", "64KiB"}}}});
  constexpr std::size_t kBytes = 256_MiB;
  Exporter store(socket(), {.bytes = kBytes});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, kBytes);
  fill_pattern(memory.bytes(), 1);
  must_complete(client, write_to(segment, 0, memory.bytes()));
  EXPECT_EQ(store.differences(1, 0, kBytes), 0u);
  const nlohmann::json after = counters();
  EXPECT_EQ(after.at("enqueued"), 1);
  EXPECT_EQ(after.at("transferred_bytes"), kBytes);
  EXPECT_GE(after.at("dispatched_chunks"), kBytes / 64_KiB);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Transfers, ThreeHundredOwnersInOneCall) {
  start();
  constexpr std::size_t kOwners = 300;
  constexpr std::size_t kBlock = 4_KiB;
  Exporter store(socket(), {.bytes = 2 * kOwners * kBlock});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 2 * kOwners * kBlock);
  store.fill(7, 0, 2 * kOwners * kBlock);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < kOwners; ++i) {
    const std::size_t at = 2 * i * kBlock;  // every other block: nothing is adjacent
    requests.push_back(read_from(segment, at, memory.bytes().subspan(at, kBlock)));
  }
  Batch batch = need(client.allocate_batch(kOwners), "allocate_batch");
  need(client.submit(batch, requests), "submit");
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().completed, kOwners);
  EXPECT_EQ(batch.overall().bytes, kOwners * kBlock);
  for (std::size_t i = 0; i < kOwners; ++i) {
    ASSERT_EQ(batch.status(static_cast<TaskId>(i)).bytes, kBlock);
    ASSERT_EQ(
        pattern_differences(memory.bytes().subspan(2 * i * kBlock, kBlock), 7, 2 * i * kBlock), 0u);
    const std::span<byte> gap = memory.bytes().subspan((2 * i + 1) * kBlock, kBlock);
    ASSERT_EQ(value_differences(gap, byte{0}), 0u);
  }
  EXPECT_EQ(counters().at("enqueued"), kOwners);
  EXPECT_EQ(store.stop(), 0);
}

class Merging : public Transfers {
 protected:
  // Owners that the daemon counts for these requests, all verified to complete.
  std::uint64_t owners_of(Client& client, const std::vector<Request>& requests,
                          const SubmitOptions& options = {}) {
    const std::uint64_t before = counters().at("enqueued");
    EXPECT_EQ(transfer(client, requests, options).completed, requests.size());
    return counters().at("enqueued").get<std::uint64_t>() - before;
  }
};

TEST_F(Merging, NeighboursOnBothSidesBecomeOneOwner) {
  start();
  constexpr std::size_t kTasks = 64;
  constexpr std::size_t kBlock = 1_KiB;
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 1_MiB);
  store.fill(3, 0, 1_MiB);
  const auto task = [&](std::size_t local, std::size_t remote) {
    return read_from(segment, remote, memory.bytes().subspan(local, kBlock));
  };
  std::vector<Request> adjacent;
  std::vector<Request> local_gaps;
  std::vector<Request> remote_gaps;
  for (std::size_t i = 0; i < kTasks; ++i) {
    adjacent.push_back(task(i * kBlock, i * kBlock));
    local_gaps.push_back(task(2 * i * kBlock, i * kBlock));
    remote_gaps.push_back(task(i * kBlock, 2 * i * kBlock));
  }
  EXPECT_EQ(owners_of(client, adjacent), 1u);
  EXPECT_EQ(pattern_differences(memory.bytes().first(kTasks * kBlock), 3), 0u);
  EXPECT_EQ(owners_of(client, adjacent, {.merge = false}), kTasks);
  EXPECT_EQ(owners_of(client, local_gaps), kTasks);
  EXPECT_EQ(owners_of(client, remote_gaps), kTasks);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Merging, NeighboursInTwoRegionsStayTwoOwners) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = need(client.allocate(8_KiB, {.registered = false}), "allocate");
  const Region low = need(client.register_memory(memory.data(), 4_KiB), "register low");
  const Region high = need(client.register_memory(memory.data() + 4_KiB, 4_KiB), "register high");
  ASSERT_NE(low.id, high.id);
  const std::vector<Request> requests = {read_from(segment, 0, memory.bytes().first(4_KiB)),
                                         read_from(segment, 4_KiB, memory.bytes().subspan(4_KiB))};
  EXPECT_EQ(owners_of(client, requests), 2u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Merging, ADerivedTaskEndsWithItsOwner) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 16; ++i) {
    requests.push_back(read_from(segment, i * 4_KiB, memory.bytes().subspan(i * 4_KiB, 4_KiB)));
  }
  Batch batch = need(client.allocate_batch(16), "allocate_batch");
  need(client.submit(batch, requests), "submit");
  // Only one derived task is looked at until it is done; then all are.
  ASSERT_TRUE(eventually(kLong, [&] { return batch.status(9).done(); }));
  EXPECT_TRUE(batch.done());
  for (TaskId task = 0; task < 16; ++task) {
    EXPECT_EQ(batch.status(task).state, State::completed);
    EXPECT_EQ(batch.status(task).bytes, 4_KiB);
  }
  EXPECT_EQ(batch.status(16).state, State::invalid);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Transfers, AProcessCopiesWithinItsOwnSegment) {
  start();
  Client client = attach(socket(), "self");
  Memory memory = allocate_at(client, 2_MiB);
  const Segment own = need(client.open_segment("self"), "open_segment");
  fill_pattern(memory.bytes().first(1_MiB), 5);
  must_complete(client, write_to(own, 1_MiB, memory.bytes().first(1_MiB)));
  EXPECT_EQ(pattern_differences(memory.bytes().subspan(1_MiB), 5), 0u);
  fill_pattern(memory.bytes().first(1_MiB), 6);
  must_complete(client, read_from(own, 0, memory.bytes().subspan(1_MiB)));
  EXPECT_EQ(pattern_differences(memory.bytes().subspan(1_MiB), 6), 0u);
}

TEST_F(Transfers, ManyProcessesShareOneStore) {
  start();
  Exporter store(socket(), {.bytes = 4 * 256_KiB});
  Load load(socket(), {.clients = 4, .area = 256_KiB});
  EXPECT_TRUE(load.proceeds(50, kLong));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches(), 0u);
  EXPECT_EQ(load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
