// Refused calls: at once, with nothing visible, distinct and truthful about whether to retry; and
// what they had spent comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

nlohmann::json client_limits(std::uint64_t owners, const char* bytes) {
  return {{"limits", {{"client", {{"owners", owners}, {"bytes", bytes}}}}}};
}

class Refusals : public DaemonFixture {
 protected:
  // `count` requests that do not merge, 64 bytes each.
  std::vector<Request> separate(std::size_t count, SegmentId segment, Memory& memory) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(write_to(segment, 128 * i, memory.bytes().subspan(128 * i, 64)));
    }
    return requests;
  }
};

// The daemon is stopped, so that nothing can complete or be granted meanwhile.
TEST_F(Refusals, OverALimitNothingOfTheCallIsVisible) {
  start(client_limits(100, "1GiB"));
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  Batch batch = need(client.allocate_batch(4'000), "allocate_batch");
  const std::vector<Request> call = separate(7, segment, memory);
  daemon().signal(SIGSTOP);
  std::uint32_t accepted = 0;
  Status status;
  while (accepted < 200) {
    status = client.submit(batch, call);
    if (!status.ok()) break;
    ++accepted;
  }
  const std::uint32_t tasks = batch.tasks();
  const auto before = std::chrono::steady_clock::now();
  const Status again = client.submit(batch, call);
  const auto took = std::chrono::steady_clock::now() - before;
  daemon().signal(SIGCONT);
  EXPECT_EQ(status.code(), Code::too_many_requests) << status.to_string();
  EXPECT_TRUE(status.may_retry());
  EXPECT_FALSE(status.text().empty());
  EXPECT_EQ(again.code(), Code::too_many_requests);
  EXPECT_LT(took, std::chrono::seconds{1});  // no answer of the stopped daemon was needed
  EXPECT_LE(7 * accepted, 100u);
  EXPECT_EQ(tasks, 7 * accepted);
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().completed, tasks);
  EXPECT_EQ(counters().at("enqueued"), tasks);
  EXPECT_EQ(counters().at("rejected"), 0);
  need(client.submit_wait(batch, call, {}, kLong), "submit after the refusal");
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, ACallAsLargeAsTheLimitFitsAndALargerOneNever) {
  start(client_limits(100, "1MiB"));
  Exporter store(socket(), {.bytes = 4_MiB});
  Client client = attach(socket(), "engine");
  EXPECT_EQ(client.limits().owners, 100u);
  EXPECT_EQ(client.limits().bytes, 1_MiB);
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 4_MiB);
  for (const std::size_t owners : {99u, 100u}) {
    EXPECT_EQ(transfer(client, separate(owners, segment, memory)).completed, owners);
  }
  for (const std::size_t bytes : {1_MiB - 1, 1_MiB}) {
    must_complete(client, write_to(segment, 0, memory.bytes().first(bytes)));
  }
  Batch batch = need(client.allocate_batch(200), "allocate_batch");
  const Status owners = client.submit(batch, separate(101, segment, memory));
  EXPECT_EQ(owners.code(), Code::too_large) << owners.to_string();
  EXPECT_FALSE(owners.may_retry());
  const Request request = write_to(segment, 0, memory.bytes().first(1_MiB + 1));
  const Status bytes = client.submit(batch, std::span(&request, 1));
  EXPECT_EQ(bytes.code(), Code::too_large) << bytes.to_string();
  EXPECT_FALSE(bytes.may_retry());
  // Waiting does not help, so it is not done either.
  EXPECT_EQ(client.submit_wait(batch, std::span(&request, 1), {}, kLong).code(), Code::too_large);
  EXPECT_EQ(batch.tasks(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, LargestCallAndLargestOwnerAreExact) {
  start({{"limits", {{"largest_call_owners", 50}, {"largest_owner_bytes", "1MiB"}}}});
  Exporter store(socket(), {.bytes = 4_MiB});
  Client client = attach(socket(), "engine");
  EXPECT_EQ(client.limits().largest_call, 50u);
  EXPECT_EQ(client.limits().largest_owner, 1_MiB);
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 4_MiB);
  EXPECT_EQ(transfer(client, separate(49, segment, memory)).completed, 49u);
  EXPECT_EQ(transfer(client, separate(50, segment, memory)).completed, 50u);
  Batch batch = need(client.allocate_batch(100), "allocate_batch");
  EXPECT_EQ(client.submit(batch, separate(51, segment, memory)).code(), Code::too_large);
  must_complete(client, write_to(segment, 0, memory.bytes().first(1_MiB)));
  const Request over = write_to(segment, 0, memory.bytes().first(1_MiB + 1));
  EXPECT_EQ(client.submit(batch, std::span(&over, 1)).code(), Code::too_large);
  EXPECT_EQ(batch.tasks(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, AFullBatchTakesNothingOfACall) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  EXPECT_EQ(client.allocate_batch(0).status().code(), Code::invalid_argument);
  Batch batch = need(client.allocate_batch(10), "allocate_batch");
  need(client.submit(batch, separate(8, segment, memory)), "8 of 10");
  const Status full = client.submit(batch, separate(3, segment, memory));
  EXPECT_EQ(full.code(), Code::batch_full) << full.to_string();
  EXPECT_FALSE(full.may_retry());
  EXPECT_EQ(batch.tasks(), 8u);
  need(client.submit(batch, separate(2, segment, memory)), "10 of 10");
  EXPECT_EQ(client.submit(batch, separate(1, segment, memory)).code(), Code::batch_full);
  EXPECT_TRUE(client.submit(batch, {}).ok());
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(batch.overall().completed, 10u);
  // Tasks count, not owners: merged ones fill the batch just the same.
  Batch merged = need(client.allocate_batch(4), "allocate_batch");
  std::vector<Request> adjacent;
  for (std::size_t i = 0; i < 5; ++i) {
    adjacent.push_back(write_to(segment, 64 * i, memory.bytes().subspan(64 * i, 64)));
  }
  EXPECT_EQ(client.submit(merged, adjacent).code(), Code::batch_full);
  EXPECT_EQ(counters().at("enqueued"), 10);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, AClassThatWasNotGrantedIsNotPermitted) {
  start();
  Exporter store(socket());
  ConnectOptions options = connection(socket(), "engine");
  options.classes = {Class::background};
  Client client = attach(options);
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  Batch batch = need(client.allocate_batch(10), "allocate_batch");
  const std::vector<Request> call = separate(1, segment, memory);
  const Status refused = client.submit(batch, call, {.cls = Class::foreground});
  EXPECT_EQ(refused.code(), Code::not_permitted) << refused.to_string();
  EXPECT_FALSE(refused.may_retry());
  need(client.submit(batch, call, {.cls = Class::background}), "submit");
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, ALimitOfZeroAdmitsNothing) {
  start({{"classes", {{"background", {{"owners", 0}}}}}});
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  Batch batch = need(client.allocate_batch(10), "allocate_batch");
  const std::vector<Request> call = separate(1, segment, memory);
  EXPECT_FALSE(client.submit(batch, call, {.cls = Class::background}).ok());
  EXPECT_FALSE(
      client.submit_wait(batch, call, {.cls = Class::background}, std::chrono::milliseconds{300})
          .ok());
  EXPECT_EQ(batch.tasks(), 0u);
  EXPECT_EQ(counters().at("enqueued"), 0);
  need(client.submit(batch, call, {.cls = Class::foreground}), "another class");
  EXPECT_TRUE(batch.wait(kLong).ok());
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, OneUnfitRequestEndsItsWholeCallWithOneReason) {
  start();
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  fill_pattern(memory.bytes(), 9);
  store.fill(1, 0, 1_MiB);
  std::vector<Request> call = separate(8, segment, memory);
  call[5].remote_offset = 1_MiB - 1;
  Batch batch = need(client.allocate_batch(8), "allocate_batch");
  need(client.submit_wait(batch, call, {}, kLong), "submit");
  const Status verdict = client.wait_verdict(batch, kLong);
  EXPECT_FALSE(verdict.ok());
  EXPECT_FALSE(verdict.may_retry()) << verdict.to_string();
  need(batch.wait(kLong), "wait");
  for (TaskId task = 0; task < 8; ++task) {
    EXPECT_EQ(batch.status(task).state, State::failed);
    EXPECT_EQ(batch.status(task).reason, TaskReason::out_of_range);
    EXPECT_FALSE(batch.status(task).may_retry());
    EXPECT_FALSE(batch.status(task).remedy().empty());
  }
  EXPECT_EQ(store.differences(1, 0, 1_MiB), 0u);
  EXPECT_EQ(transfer(client, separate(8, segment, memory)).completed, 8u);
  EXPECT_EQ(store.stop(), 0);
}

// Credit that refused calls had spent must come back, however often.
TEST_F(Refusals, TenThousandUnfitCallsCostNothing) {
  start(client_limits(64, "1MiB"));
  Exporter store(socket());
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 64_KiB);
  std::vector<Request> unfit = separate(32, segment, memory);
  unfit[31].remote_offset = 2_MiB;
  for (int i = 0; i < 10'000; ++i) {
    const BatchStatus ended = transfer(client, unfit);
    ASSERT_EQ(ended.failed, 32u) << "call " << i;
    ASSERT_EQ(ended.reason, TaskReason::out_of_range);
  }
  EXPECT_EQ(transfer(client, separate(64, segment, memory)).completed, 64u);
  const nlohmann::json row = client_row("engine");
  EXPECT_EQ(row.at("slots_used"), 0);
  EXPECT_GE(row.at("violations_by_kind").at("out_of_range"), 10'000);
  // Told in a few lines with their count, not in ten thousand.
  const std::string log = daemon().log();
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 20) << log;
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Refusals, ANameThatNobodyExportsIsNotFound) {
  start();
  Client client = attach(socket(), "engine");
  const Status missing = client.open_segment("store").status();
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_FALSE(missing.text().empty());
  EXPECT_EQ(client.open_segment("tentq://10.1.2.3/store").status().code(), Code::no_route);
  for (const std::string name : {"", "../../etc/passwd", "/etc/passwd", "a\nb", "a b", ".hidden",
                                 "tentq://", "tentq:///", "\xff\xfe"}) {
    const Code code = client.open_segment(name).status().code();
    EXPECT_TRUE(code == Code::invalid_argument || code == Code::not_found) << name;
  }
  EXPECT_NE(client.open_segment(std::string(4'096, 'n')).status().code(), Code::ok);
}

// One process holds a handle while the exporter under the name changes.
TEST_F(Refusals, AHandleToTheFormerExporterIsStale) {
  start();
  Role holder("holder", std::chrono::seconds{120}, [&](RoleChannel& channel) {
    if (!channel.receive<std::uint64_t>(kLong)) return 1;
    Client client = attach(socket(), "holder");
    const Segment segment = need(client.open_segment("store"), "open_segment");
    Memory memory = allocate_at(client, 4_KiB);
    must_complete(client, read_from(segment, 0, memory.bytes()));
    channel.send(std::uint64_t{0});
    if (!channel.receive<std::uint64_t>(kLong)) return 1;
    const BatchStatus ended = transfer(client, read_from(segment, 0, memory.bytes()));
    channel.send(static_cast<std::uint64_t>(ended.reason));
    const Segment again = need(client.open_segment("store"), "open again");
    must_complete(client, read_from(again, 0, memory.bytes()));
    return pattern_differences(memory.bytes(), 2) == 0 ? 0 : 2;
  });
  {
    Exporter store(socket());
    store.fill(1, 0, 4_KiB);
    holder.channel().send(std::uint64_t{0});
    ASSERT_TRUE(holder.channel().receive<std::uint64_t>(kLong));
    store.kill();
    store.join();
  }
  ASSERT_TRUE(eventually(kLong, [&] { return client_row("store").is_null(); }));
  Exporter store(socket());
  store.fill(2, 0, 4_KiB);
  holder.channel().send(std::uint64_t{0});
  const auto reason = holder.channel().receive<std::uint64_t>(kLong);
  ASSERT_TRUE(reason);
  EXPECT_EQ(static_cast<TaskReason>(*reason), TaskReason::stale_handle);
  EXPECT_FALSE(may_retry(TaskReason::stale_handle));
  EXPECT_EQ(holder.join(kLong), 0);
  EXPECT_EQ(store.stop(), 0);
}

}  // namespace
}  // namespace tentq::test
