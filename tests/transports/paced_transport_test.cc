// A lane as a link of a given rate, on virtual time: who is served when, and what is reported when.
#include "transports/paced/paced_transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/transports/rig.h"
#include "tests/transports/virtual_pace_clock.h"
#include "transports/fake/fake_transport.h"
#include "transports/fault/fault_transport.h"
#include "transports/shm/shm_transport.h"

namespace tentq::test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kRate = 1'000'000'000;  // a byte a nanosecond

TEST(LaneServer, ServesOneAfterTheOther) {
  LaneServer server;
  const Time start = time_from_ns(1000);
  EXPECT_EQ(server.serve(start, 500, kRate), time_from_ns(1500));
  EXPECT_EQ(server.serve(start, 100, kRate), time_from_ns(1600));
  // Idle time is not saved up.
  EXPECT_EQ(server.serve(time_from_ns(9000), 100, kRate), time_from_ns(9100));
}

TEST(LaneServer, RoundsUpAndNeverWraps) {
  EXPECT_EQ(service_time(1, 3'000'000'000), nanoseconds{1});
  EXPECT_EQ(service_time(3, 2'000'000'000), nanoseconds{2});
  EXPECT_EQ(service_time(std::uint64_t{1} << 50, 1), Duration::max());
  LaneServer server;
  EXPECT_EQ(server.serve(time_from_ns(5), std::uint64_t{1} << 50, 1), kNever);
  EXPECT_EQ(server.serve(time_from_ns(5), 1, 1), kNever);
}

class PacedTransportTest : public testing::Test {
 protected:
  PacedTransport& with(std::uint32_t queue_chunks = 64, FakeOptions fake = {}) {
    inner_ = std::make_unique<FakeTransport>(fake);
    paced_ =
        std::make_unique<PacedTransport>(inner_.get(), &clock_, PacedOptions{kRate, queue_chunks});
    return *paced_;
  }
  Chunk chunk(std::uint64_t length, std::uint16_t lane = 0) {
    Chunk made = rig_.chunk(Op::read, 0, 0, length);
    made.lane = LaneId(lane);
    return made;
  }
  std::vector<std::uint32_t> poll() {
    std::vector<Completion> completions(64);
    completions.resize(paced_->poll(completions));
    std::vector<std::uint32_t> ordinals;
    for (const Completion& one : completions) ordinals.push_back(one.id.ordinal);
    return ordinals;
  }
  using Ordinals = std::vector<std::uint32_t>;

  VirtualPaceClock clock_;
  Rig rig_{std::make_unique<FakeTransport>(), 65'536};
  std::unique_ptr<FakeTransport> inner_;
  std::unique_ptr<PacedTransport> paced_;
};

TEST_F(PacedTransportTest, ReportsAtTheEndOfTheServiceAndNotBefore) {
  auto& paced = with();
  const std::vector<Chunk> three = {chunk(1000), chunk(500), chunk(2000)};
  EXPECT_EQ(paced.post(three).accepted, 3u);
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{999});
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{1});
  EXPECT_EQ(poll(), (Ordinals{0}));
  clock_.advance(nanoseconds{499});
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{1});
  EXPECT_EQ(poll(), (Ordinals{1}));
  clock_.advance(nanoseconds{1999});
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{1});
  EXPECT_EQ(poll(), (Ordinals{2}));
}

TEST_F(PacedTransportTest, AWaitingChunkMovesNoByte) {
  auto& paced = with();
  const std::vector<Chunk> two = {rig_.chunk(Op::read, 0, 0, 1000),
                                  rig_.chunk(Op::read, 2000, 2000, 1000)};
  for (const Chunk& one : two) fill_pattern(rig_.source_of(one), one.id.ordinal);
  paced.post(two);
  EXPECT_EQ(paced.waiting(), 1u);
  EXPECT_EQ(poll(), Ordinals{});
  EXPECT_TRUE(has_pattern(rig_.target_of(two[0]), 0));
  EXPECT_FALSE(has_pattern(rig_.target_of(two[1]), 1));
  clock_.advance(nanoseconds{1000});
  EXPECT_EQ(poll(), (Ordinals{0}));
  EXPECT_EQ(paced.waiting(), 0u);
  EXPECT_TRUE(has_pattern(rig_.target_of(two[1]), 1));
}

TEST_F(PacedTransportTest, IdleTimeIsNotSavedUp) {
  auto& paced = with();
  clock_.advance(microseconds{100});
  const Chunk first = chunk(1000);
  paced.post({&first, 1});
  clock_.advance(microseconds{100});
  EXPECT_EQ(poll(), (Ordinals{0}));
  const std::vector<Chunk> two = {chunk(1000), chunk(1000)};
  paced.post(two);
  clock_.advance(nanoseconds{1000});
  EXPECT_EQ(poll(), (Ordinals{1}));
  clock_.advance(nanoseconds{999});
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{1});
  EXPECT_EQ(poll(), (Ordinals{2}));
}

TEST_F(PacedTransportTest, ALateConductorLosesNoCapacity) {
  auto& paced = with();
  std::vector<Chunk> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(chunk(1000));
  paced.post(ten);
  // Late by half a service: it finds three that are over, and the fourth is under way.
  clock_.advance(nanoseconds{3500});
  EXPECT_EQ(poll(), (Ordinals{0, 1, 2}));
  clock_.advance(nanoseconds{500});
  EXPECT_EQ(poll(), (Ordinals{3}));
  clock_.advance(nanoseconds{6000});
  EXPECT_EQ(poll(), (Ordinals{4, 5, 6, 7, 8, 9}));
}

TEST_F(PacedTransportTest, EachLaneIsItsOwnServer) {
  auto& paced = with();
  const std::vector<Chunk> chunks = {chunk(5000, 0), chunk(1000, 1), chunk(1000, 1)};
  paced.post(chunks);
  clock_.advance(nanoseconds{2000});
  EXPECT_EQ(poll(), (Ordinals{1, 2}));
  clock_.advance(nanoseconds{3000});
  EXPECT_EQ(poll(), (Ordinals{0}));
}

TEST_F(PacedTransportTest, ACanceledChunkEndsAtOnceAndThoseBehindItMoveUp) {
  auto& paced = with();
  const std::vector<Chunk> three = {chunk(1000), chunk(10'000), chunk(1000)};
  paced.post(three);
  paced.cancel(three[1].id);
  std::vector<Completion> completions(4);
  ASSERT_EQ(paced.poll(completions), 1u);
  EXPECT_EQ(completions[0].id, three[1].id);
  EXPECT_EQ(completions[0].outcome, ChunkOutcome::canceled);
  EXPECT_EQ(completions[0].bytes, 0u);
  clock_.advance(nanoseconds{2000});
  EXPECT_EQ(poll(), (Ordinals{0, 2}));
}

TEST_F(PacedTransportTest, ACancelInServiceIsTheInnerTransportsAndItsPlaceIsSpent) {
  auto& paced = with();
  const std::vector<Chunk> two = {chunk(1000), chunk(1000)};
  paced.post(two);
  paced.cancel(two[0].id);
  EXPECT_EQ(poll(), Ordinals{});
  clock_.advance(nanoseconds{1000});
  std::vector<Completion> completions(4);
  ASSERT_EQ(paced.poll(completions), 1u);
  EXPECT_EQ(completions[0].outcome, ChunkOutcome::canceled);
  clock_.advance(nanoseconds{1000});
  EXPECT_EQ(poll(), (Ordinals{1}));
}

TEST_F(PacedTransportTest, RefusesExactlyWhatIsOverItsCapacity) {
  auto& paced = with(3);
  const std::vector<Chunk> four = {chunk(10), chunk(10), chunk(10), chunk(10)};
  PostOutcome outcome = paced.post(four);
  EXPECT_EQ(outcome.accepted, 3u);
  EXPECT_EQ(outcome.refusal, PostRefusal::saturated);
  // Canceled and not polled: its entry is still in use.
  paced.cancel(four[2].id);
  EXPECT_EQ(paced.post(std::span(four).last(1)).accepted, 0u);
  EXPECT_EQ(poll(), (Ordinals{2}));
  EXPECT_EQ(paced.post(std::span(four).last(1)).accepted, 1u);
  clock_.advance(nanoseconds{30});
  EXPECT_EQ(poll(), (Ordinals{0, 1, 3}));
}

TEST_F(PacedTransportTest, AFullInnerTransportIsAskedAgain) {
  auto& paced = with(8, FakeOptions{1, 0});
  const std::vector<Chunk> two = {chunk(100, 0), chunk(100, 1)};
  EXPECT_EQ(paced.post(two).accepted, 2u);
  EXPECT_EQ(paced.waiting(), 1u);
  // Polling takes the first out of the inner one, so that the second gets in.
  EXPECT_EQ(poll(), Ordinals{});
  EXPECT_EQ(paced.waiting(), 0u);
  clock_.advance(nanoseconds{100});
  EXPECT_EQ(poll(), (Ordinals{0, 1}));
}

TEST_F(PacedTransportTest, ARefusalOfAnEmptyInnerTransportDoesNotStopTheLane) {
  FakeTransport inner;
  FaultOptions once;
  once.script = {ChunkFault::saturated};
  FaultTransport fault(&inner, once);
  PacedTransport paced(&fault, &clock_, {kRate, 8});
  const Chunk one = chunk(100);
  EXPECT_EQ(paced.post({&one, 1}).accepted, 1u);
  EXPECT_EQ(paced.waiting(), 1u);
  ASSERT_TRUE(paced.arm_wakeup()) << "taken when it was asked again";
  clock_.advance(nanoseconds{100});
  EXPECT_TRUE(is_readable(paced.wakeup_fd()));
  std::vector<Completion> completions(4);
  EXPECT_EQ(paced.poll(completions), 1u);
}

TEST_F(PacedTransportTest, APermanentRefusalOfTheInnerTransportFailsTheChunkOnly) {
  FakeTransport inner;
  FaultOptions once;
  once.script = {ChunkFault::refused, ChunkFault::none};
  FaultTransport fault(&inner, once);
  PacedTransport paced(&fault, &clock_, {kRate, 8});
  const std::vector<Chunk> two = {chunk(100), chunk(100)};
  EXPECT_EQ(paced.post(two).accepted, 2u);
  clock_.advance(nanoseconds{100});
  std::vector<Completion> completions(4);
  ASSERT_EQ(paced.poll(completions), 2u);
  EXPECT_EQ(completions[0].id, two[0].id);
  EXPECT_EQ(completions[0].outcome, ChunkOutcome::failed);
  EXPECT_EQ(completions[1].outcome, ChunkOutcome::done);
}

TEST_F(PacedTransportTest, ASleeperIsWokenWhenAServiceEndsAndNotBefore) {
  auto& paced = with();
  EXPECT_TRUE(paced.arm_wakeup());
  EXPECT_EQ(clock_.alarm(), kNever) << "an idle transport needs no alarm";
  const std::vector<Chunk> two = {chunk(1000), chunk(500)};
  paced.post(two);
  EXPECT_EQ(poll(), Ordinals{});
  ASSERT_TRUE(paced.arm_wakeup());
  EXPECT_EQ(clock_.alarm(), clock_.now() + nanoseconds{1000});
  clock_.advance(nanoseconds{999});
  EXPECT_FALSE(is_readable(paced.wakeup_fd()));
  clock_.advance(nanoseconds{1});
  EXPECT_TRUE(is_readable(paced.wakeup_fd()));
  EXPECT_FALSE(paced.arm_wakeup());
  EXPECT_EQ(poll(), (Ordinals{0}));
  EXPECT_FALSE(is_readable(paced.wakeup_fd()));
  ASSERT_TRUE(paced.arm_wakeup());
  clock_.advance(nanoseconds{500});
  EXPECT_TRUE(is_readable(paced.wakeup_fd()));
}

TEST_F(PacedTransportTest, APostOrACancelWhileArmedWakes) {
  auto& paced = with();
  ASSERT_TRUE(paced.arm_wakeup());
  const std::vector<Chunk> two = {chunk(1000), chunk(1000)};
  paced.post(two);
  EXPECT_FALSE(is_readable(paced.wakeup_fd()));
  clock_.advance(nanoseconds{1000});
  EXPECT_TRUE(is_readable(paced.wakeup_fd()));
  EXPECT_EQ(poll(), (Ordinals{0}));
  const std::vector<Chunk> more = {chunk(1000)};
  paced.post(more);
  ASSERT_TRUE(paced.arm_wakeup());
  paced.cancel(more[0].id);
  EXPECT_TRUE(is_readable(paced.wakeup_fd()));
  EXPECT_EQ(poll(), (Ordinals{2}));
}

TEST_F(PacedTransportTest, RandomLoadsKeepToTheModelOfASingleServer) {
  constexpr std::uint64_t kSeed = 20'261'130;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  auto& paced = with(512);
  std::vector<std::pair<std::uint32_t, Time>> expected[2];  // by lane: ordinal, end of service
  Time free_at[2] = {};
  std::size_t reported[2] = {};
  std::uint32_t ordinal = 0;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 3 == 0) {
      const auto lane = static_cast<std::uint16_t>(random() % 2);
      const Chunk one = chunk(1 + random() % 4096, lane);
      ASSERT_EQ(paced.post({&one, 1}).accepted, 1u);
      free_at[lane] = std::max(free_at[lane], clock_.now()) + service_time(one.length, kRate);
      expected[lane].emplace_back(ordinal++, free_at[lane]);
    }
    clock_.advance(nanoseconds{random() % 2500});
    std::vector<Completion> completions(random() % 4);
    const std::size_t room = completions.size();
    completions.resize(paced.poll(completions));
    for (const Completion& one : completions) {
      const std::size_t lane =
          reported[0] < expected[0].size() && expected[0][reported[0]].first == one.id.ordinal ? 0
                                                                                               : 1;
      ASSERT_LT(reported[lane], expected[lane].size());
      ASSERT_EQ(expected[lane][reported[lane]].first, one.id.ordinal) << "out of order";
      ASSERT_GE(clock_.now(), expected[lane][reported[lane]].second) << "too early";
      ++reported[lane];
    }
    if (completions.size() == room) continue;
    for (const std::size_t lane : {0u, 1u}) {
      ASSERT_TRUE(reported[lane] == expected[lane].size() ||
                  expected[lane][reported[lane]].second > clock_.now())
          << "late at step " << step;
    }
  }
}

TEST(PacedTransport, PacesRealCopiesOnTheHostsClock) {
  constexpr std::uint64_t kBytes = 64u << 10;
  constexpr std::size_t kChunks = 64;
  constexpr std::uint64_t kBytesPerSecond = 100'000'000;  // 42 ms in all
  ShmTransport inner;
  HostPaceClock clock;
  Rig rig(std::make_unique<PacedTransport>(&inner, &clock, PacedOptions{kBytesPerSecond, 64}),
          kChunks * kBytes);
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < kChunks; ++i) {
    chunks.push_back(rig.chunk(Op::write, i * kBytes, i * kBytes, kBytes));
    fill_pattern(rig.source_of(chunks.back()), i);
  }
  const Time begin = clock.now();
  rig.post_all(chunks);
  ASSERT_TRUE(rig.run_until(kChunks));
  EXPECT_GE(clock.now() - begin, service_time(kChunks * kBytes, kBytesPerSecond));
  rig.expect_all_done(chunks);
  for (const Chunk& one : chunks) {
    EXPECT_TRUE(has_pattern(rig.target_of(one), one.id.ordinal));
  }
}

TEST(PacedTransport, RefusesContradictoryOptions) {
  FakeTransport inner;
  VirtualPaceClock clock;
  EXPECT_THROW(PacedTransport(&inner, &clock, PacedOptions{0, 1}), std::invalid_argument);
  EXPECT_THROW(PacedTransport(&inner, &clock, PacedOptions{1, 0}), std::invalid_argument);
  EXPECT_THROW(PacedTransport(&inner, &clock, PacedOptions{1, (1u << 20) + 1}),
               std::invalid_argument);
  EXPECT_NO_THROW(PacedTransport(&inner, &clock, PacedOptions{1, 1}));
}

}  // namespace
}  // namespace tentq::test
