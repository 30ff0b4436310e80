// What the client library says and does when the daemon is gone and stays away, when it may not
// repeat work, and when it is closed meanwhile.
#include <gtest/gtest.h>

#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using Clock = std::chrono::steady_clock;

class DaemonGone : public DaemonFixture {
 protected:
  // What is submitted stays queued for a while.
  void start_slow() { start(narrow_lanes()); }
  // 16 owners of 16 MiB each.
  Batch submit_much(Client& client, SegmentId segment, Memory& memory,
                    const SubmitOptions& options = {}) {
    return submit_again_and_again(client, write_to(segment, 0, memory.bytes()), 16, options);
  }
};

TEST_F(DaemonGone, WorkThatMustNotBeRepeatedEndsWithDaemonGone) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch once = submit_much(client, segment, memory, {.no_resubmit = true});
  daemon().kill();
  ASSERT_TRUE(once.wait(kLong).ok());
  const BatchStatus outcome = once.overall();
  EXPECT_EQ(outcome.pending, 0u);
  EXPECT_EQ(outcome.failed + outcome.completed, 16u);
  EXPECT_GT(outcome.failed, 0u);
  EXPECT_EQ(outcome.reason, TaskReason::daemon_gone);
  daemon().start();
  ASSERT_TRUE(eventually(kLong, [&] { return client.attached(); }));
  EXPECT_EQ(once.overall().failed, outcome.failed);
  must_complete(client, write_to(segment, 0, memory.bytes().first(64)));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonGone, AfterTheReattachTimeoutWorkEndsWithDaemonGone) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  ConnectOptions options = connection(socket(), "engine");
  options.reattach_timeout = std::chrono::milliseconds{500};
  Client client = attach(options);
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = submit_much(client, segment, memory);
  daemon().kill();
  const auto begin = Clock::now();
  ASSERT_TRUE(batch.wait(kLong).ok());
  const auto took = Clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds{400});
  EXPECT_LT(took, std::chrono::seconds{5});
  EXPECT_EQ(batch.overall().state, State::failed);
  EXPECT_EQ(batch.overall().reason, TaskReason::daemon_gone);
  Batch more = need(client.allocate_batch(1), "allocate_batch");
  const Request request = write_to(segment, 0, memory.bytes().first(64));
  EXPECT_EQ(client.submit(more, std::span(&request, 1)).code(), Code::daemon_gone);
  EXPECT_EQ(more.tasks(), 0u);
  daemon_has_ended();
}

TEST_F(DaemonGone, APendingCancelBecomesCanceled) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = submit_much(client, segment, memory);
  daemon().signal(SIGSTOP);  // it will never see the cancel
  need(client.cancel(batch), "cancel");
  const std::uint32_t completed = batch.overall().completed;
  daemon().kill();
  const auto begin = Clock::now();
  ASSERT_TRUE(batch.wait(kLong).ok());
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds{5});  // not only when it is given up
  const BatchStatus outcome = batch.overall();
  EXPECT_EQ(outcome.completed, completed);
  EXPECT_EQ(outcome.canceled, 16u - completed);
  daemon().start();
  ASSERT_TRUE(eventually(kLong, [&] { return client.attached(); }));
  EXPECT_EQ(batch.overall().canceled, outcome.canceled);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonGone, ACancelWhileThereIsNoDaemonEndsItsTaskAtOnce) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = submit_much(client, segment, memory);
  daemon().kill();
  ASSERT_TRUE(eventually(kLong, [&] { return !client.attached(); }));
  need(client.cancel(batch, 15), "cancel");
  EXPECT_EQ(batch.status(15).state, State::canceled);
  EXPECT_EQ(batch.status(14).state, State::pending);
  daemon().start();
  ASSERT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().completed, 15u);
  EXPECT_EQ(batch.overall().canceled, 1u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(DaemonGone, ClosingTakesNoLongerThanASecond) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  ConnectOptions options = connection(socket(), "engine");
  options.reattach_timeout = std::chrono::milliseconds{300};
  std::vector<Batch> batches;
  std::optional<Client> client = attach(options);
  Segment segment = need(client->open_segment("store"), "open_segment");
  Memory memory = allocate_at(*client, 16_MiB);
  batches.push_back(submit_much(*client, segment, memory));
  daemon().kill();
  const auto begin = Clock::now();
  client.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds{1});
  EXPECT_TRUE(batches[0].done());
  EXPECT_EQ(batches[0].overall().pending, 0u);
  EXPECT_EQ(batches[0].wait(kLong).code(), Code::daemon_gone);
  daemon_has_ended();
}

TEST_F(DaemonGone, AProcessThatExitsMeanwhileDoesSoAtOnce) {
  start_slow();
  Exporter store(socket(), {.bytes = 16_MiB});
  Role role("engine", std::chrono::seconds{60}, [&](RoleChannel& channel) {
    auto client = std::make_unique<Client>(attach(socket(), "engine"));
    const Segment segment = need(client->open_segment("store"), "open_segment");
    Memory memory = allocate_at(*client, 16_MiB);
    Batch batch = submit_much(*client, segment, memory);
    channel.send(std::uint64_t{0});
    if (!channel.receive<std::uint64_t>(kLong)) return 1;
    (void)client.release();  // lives until the process ends, as a global would
    std::exit(7);
  });
  ASSERT_TRUE(role.channel().receive<std::uint64_t>(kLong));
  daemon().kill();
  const auto begin = Clock::now();
  role.channel().send(std::uint64_t{0});
  EXPECT_EQ(role.join(kLong), 7);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds{2});
  daemon_has_ended();
}

TEST_F(DaemonGone, ConnectSaysWhetherItRuns) {
  start();
  const std::string missing = daemon().directory() + "/nowhere.sock";
  ConnectOptions options = connection(missing, "engine");
  options.attach_timeout = std::chrono::milliseconds{200};
  const Status absent = Client::connect(options).status();
  EXPECT_EQ(absent.code(), Code::daemon_gone);
  EXPECT_NE(absent.text().find(missing), std::string::npos) << absent.text();
  EXPECT_TRUE(absent.may_retry());
  const std::string path = socket();
  daemon().kill();
  options.socket = path;
  const auto begin = Clock::now();
  const Status dead = Client::connect(options).status();
  EXPECT_EQ(dead.code(), Code::daemon_gone);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds{5});
  daemon_has_ended();
}

// The library keeps the daemon's limits also for the work that it repeats.
TEST_F(DaemonGone, SubmitWaitLastsOverARestart) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  daemon().kill();
  Batch batch = need(client.allocate_batch(1), "allocate_batch");
  const Request request = write_to(segment, 0, memory.bytes());
  ASSERT_TRUE(eventually(kLong, [&] { return !client.attached(); }));
  EXPECT_EQ(client.submit(batch, std::span(&request, 1)).code(), Code::daemon_gone);
  EXPECT_EQ(
      client.submit_wait(batch, std::span(&request, 1), {}, std::chrono::milliseconds{50}).code(),
      Code::daemon_gone);
  daemon().start();
  need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit_wait");
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().completed, 1u);
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
