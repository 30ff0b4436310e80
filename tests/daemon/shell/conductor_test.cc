// The conductor sleeps only when nothing would be missed, wakes for what is due, and gives sockets
// their turn while there is work.
#include "daemon/conductor.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <vector>

namespace tentq {
namespace {

using namespace std::chrono_literals;

class ScriptedSteps : public Conductor::Steps {
 public:
  bool work(Time) override {
    ++works;
    return works <= busy_turns;
  }
  bool glance() const override { return false; }
  bool prepare_sleep(Time) override {
    ++prepares;
    return may_sleep;
  }
  void park_idle(Time) override { ++parks; }
  Time next_deadline() override { return due == kNever ? monotonic_now() + 1h : due; }
  void periodic(Time) override { ++periodics; }
  bool finished() const override { return done || prepares >= stop_after; }

  int works = 0, prepares = 0, parks = 0, periodics = 0;
  int busy_turns = 0;
  int stop_after = 3;
  bool may_sleep = true;
  bool done = false;
  Time due = kNever;
};

LoopSettings quick() {
  LoopSettings settings;
  settings.spin = Duration{0};
  settings.safety_poll = 5ms;
  return settings;
}

TEST(ConductorTest, SleepsWhenThereIsNothingAndWakesForTheSafetyPoll) {
  boost::asio::io_context io;
  const auto guard = boost::asio::make_work_guard(io);
  ScriptedSteps steps;
  const LoopSettings settings = quick();
  Conductor conductor(io, steps, settings);
  conductor.run();
  EXPECT_EQ(conductor.sleeps(), 3u);
  EXPECT_GE(steps.periodics, 2);
}

TEST(ConductorTest, NeverSleepsWhileSomethingWouldBeMissed) {
  boost::asio::io_context io;
  const auto guard = boost::asio::make_work_guard(io);
  ScriptedSteps steps;
  steps.may_sleep = false;
  const LoopSettings settings = quick();
  Conductor conductor(io, steps, settings);
  conductor.run();
  EXPECT_EQ(conductor.sleeps(), 0u);
}

TEST(ConductorTest, WorkPostponesSleep) {
  boost::asio::io_context io;
  const auto guard = boost::asio::make_work_guard(io);
  ScriptedSteps steps;
  steps.busy_turns = 1000;
  steps.stop_after = 1;
  const LoopSettings settings = quick();
  Conductor conductor(io, steps, settings);
  conductor.run();
  EXPECT_GE(steps.works, 1000);
  EXPECT_GE(steps.parks, 1);
}

TEST(ConductorTest, ALongHandlerLetsTheRingsHaveTheirTurnBeforeTheNext) {
  boost::asio::io_context io;
  const auto guard = boost::asio::make_work_guard(io);
  ScriptedSteps steps;
  std::vector<int> turns;
  for (int i = 0; i < 8; ++i) {
    boost::asio::post(io, [&] {
      for (const Time begin = monotonic_now(); monotonic_now() - begin < 250us;) {
      }
      turns.push_back(steps.works);
      steps.done = turns.size() == 8;
    });
  }
  steps.busy_turns = 1 << 30;
  const LoopSettings settings = quick();
  Conductor conductor(io, steps, settings);
  conductor.run();
  ASSERT_EQ(turns.size(), 8u);
  for (std::size_t i = 1; i < turns.size(); ++i) EXPECT_GT(turns[i], turns[i - 1]);
}

TEST(ConductorTest, HandlersRunWhileThereIsWork) {
  boost::asio::io_context io;
  const auto guard = boost::asio::make_work_guard(io);
  ScriptedSteps steps;
  steps.busy_turns = 1 << 30;
  boost::asio::post(io, [&steps] { steps.done = true; });
  const LoopSettings settings = quick();
  Conductor conductor(io, steps, settings);
  conductor.run();
  EXPECT_TRUE(steps.done);
}

}  // namespace
}  // namespace tentq
