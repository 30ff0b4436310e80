// A late byte never arrives: once a task's status is terminal, whatever it is, both ranges belong
// to their owners again. The test writes a pattern into both and finds it unchanged at the end,
// also after everything else has ended.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

constexpr std::size_t kArea = 4_MiB;
constexpr std::size_t kAreas = 8;
constexpr std::uint64_t kMark = 1u << 20;  // seeds of patterns written after the end

// What becomes of the transfers of a test.
enum class Fate {
  completes,
  is_canceled,
  meets_its_deadline,
  waits_too_long,
  has_its_daemon_killed
};

class LateBytes : public DaemonFixture, public ::testing::WithParamInterface<Fate> {
 protected:
  // One worker of two chunks in flight: transfers are cut short in the middle, not only before.
  void start_narrow() {
    start({{"shm",
            {{"window_bytes", "256KiB"},
             {"window_chunks", 4},
             {"chunk_bytes", "64KiB"},
             {"workers", 2}}}});
  }
};

SubmitOptions options_of(Fate fate, std::mt19937& random) {
  SubmitOptions options;
  const std::chrono::microseconds soon{1 + random() % 2'000};
  if (fate == Fate::meets_its_deadline) options.deadline = soon;
  if (fate == Fate::waits_too_long) options.max_queue_wait = soon;
  options.merge = false;
  return options;
}

// `ended`: tasks by State; `tasks`: all of them.
void expect_outcomes(Fate fate, const std::uint32_t (&ended)[5], std::size_t tasks) {
  const auto count = [&](State state) { return ended[static_cast<std::size_t>(state)]; };
  EXPECT_EQ(count(State::failed), 0u);
  switch (fate) {
    case Fate::completes:
    case Fate::has_its_daemon_killed: EXPECT_EQ(count(State::completed), tasks); break;
    case Fate::is_canceled: EXPECT_GT(count(State::canceled), 0u); break;
    case Fate::meets_its_deadline:
    case Fate::waits_too_long: EXPECT_GT(count(State::timeout), 0u); break;
  }
}

TEST_P(LateBytes, NeverArrive) {
  start_narrow();
  const Fate fate = GetParam();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Exporter store(socket(), {.bytes = kAreas * kArea});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, kAreas * kArea);
  const int rounds = fate == Fate::has_its_daemon_killed ? 6 : 25;
  std::uint64_t marks = 0;
  std::uint32_t ended[5] = {};
  for (int round = 0; round < rounds; ++round) {
    Batch batch = need(client.allocate_batch(kAreas), "allocate_batch");
    for (std::size_t area = 0; area < kAreas; ++area) {
      const std::span<std::byte> bytes = memory.bytes().subspan(area * kArea, kArea);
      const Request request = random() % 2 == 0 ? read_from(segment, area * kArea, bytes)
                                                : write_to(segment, area * kArea, bytes);
      need(client.submit_wait(batch, std::span(&request, 1), options_of(fate, random), kLong),
           "submit");
      if (fate == Fate::is_canceled && random() % 2 == 0) {
        need(client.cancel(batch, static_cast<TaskId>(random() % (area + 1))), "cancel");
      }
    }
    if (fate == Fate::is_canceled) need(client.cancel(batch), "cancel");
    if (fate == Fate::has_its_daemon_killed) daemon().kill();
    bool restarted = fate != Fate::has_its_daemon_killed;
    std::vector<bool> marked(kAreas, false);
    std::size_t done = 0;
    // Each area is marked the moment its own task is terminal, while the others still run.
    ASSERT_TRUE(eventually(kLong, [&] {
      for (std::size_t area = 0; area < kAreas; ++area) {
        const TaskStatus status = batch.status(static_cast<TaskId>(area));
        if (marked[area] || !status.done()) continue;
        marked[area] = true;
        ++done;
        ++ended[static_cast<std::size_t>(status.state)];
        fill_pattern(memory.bytes().subspan(area * kArea, kArea), kMark + marks + area);
        store.fill(kMark + marks + 100 + area, area * kArea, kArea);
      }
      if (!restarted) daemon().start();
      restarted = true;
      return done == kAreas;
    }));
    std::uint64_t local_wrong = 0;
    std::uint64_t remote_wrong = 0;
    for (std::size_t area = 0; area < kAreas; ++area) {
      local_wrong +=
          pattern_differences(memory.bytes().subspan(area * kArea, kArea), kMark + marks + area);
      remote_wrong += store.differences(kMark + marks + 100 + area, area * kArea, kArea);
    }
    ASSERT_EQ(local_wrong, 0u) << "round " << round;
    ASSERT_EQ(remote_wrong, 0u) << "round " << round;
    marks += 1'000;
    client.free_batch(batch);
  }
  expect_idle();
  for (std::size_t area = 0; area < kAreas; ++area) {
    EXPECT_EQ(pattern_differences(memory.bytes().subspan(area * kArea, kArea),
                                  kMark + marks - 1'000 + area),
              0u);
    EXPECT_EQ(store.differences(kMark + marks - 1'000 + 100 + area, area * kArea, kArea), 0u);
  }
  expect_outcomes(fate, ended, static_cast<std::uint32_t>(rounds) * kAreas);
  EXPECT_EQ(store.stop(), 0);
}

std::string fate_name(const ::testing::TestParamInfo<Fate>& info) {
  switch (info.param) {
    case Fate::completes: return "AfterCompletion";
    case Fate::is_canceled: return "AfterACancel";
    case Fate::meets_its_deadline: return "AfterADeadline";
    case Fate::waits_too_long: return "AfterTooLongAWait";
    case Fate::has_its_daemon_killed: return "AfterADaemonsDeath";
  }
  return {};
}

INSTANTIATE_TEST_SUITE_P(Fates, LateBytes,
                         ::testing::Values(Fate::completes, Fate::is_canceled,
                                           Fate::meets_its_deadline, Fate::waits_too_long,
                                           Fate::has_its_daemon_killed),
                         fate_name);

// The memory of a dead client's transfers stays mapped until they are quiet, and what they had
// written to a store before the death is all that they write: afterwards its pattern stays.
TEST_F(LateBytes, NeverArriveFromAClientThatDied) {
  start_narrow();
  Exporter store(socket(), {.bytes = kArea});
  for (int round = 0; round < 20; ++round) {
    Role victim("victim", std::chrono::seconds{60}, [&](RoleChannel& channel) {
      Client client = attach(socket(), "victim");
      const Segment segment = need(client.open_segment("store"), "open_segment");
      Memory memory = allocate_at(client, kArea);
      Batch batch = need(client.allocate_batch(16), "allocate_batch");
      const Request request = write_to(segment, 0, memory.bytes());
      for (int i = 0; i < 16; ++i) {
        need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
      }
      channel.send(std::uint64_t{0});
      (void)batch.wait(kLong);
      (void)channel.receive<std::uint64_t>(kLong);
      return 0;
    });
    ASSERT_TRUE(victim.channel().receive<std::uint64_t>(kLong));
    victim.kill();
    victim.join(kLong);
    // Gone from the list of clients means quiet.
    ASSERT_TRUE(eventually(kLong, [&] { return client_row("victim").is_null(); }));
    store.fill(kMark + static_cast<std::uint64_t>(round), 0, kArea);
    expect_idle();
    ASSERT_EQ(store.differences(kMark + static_cast<std::uint64_t>(round), 0, kArea), 0u);
  }
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
