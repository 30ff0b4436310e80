// Submitting: what is refused leaves no trace, what is accepted arrives.
#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class Submit : public ClientTest {};

TEST_F(Submit, ReadsAndWritesEveryByte) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(4);
  const Request reads[] = {pair.request(0, 1000), pair.request(5000, 300'000)};
  TaskId first = 99;
  ASSERT_TRUE(
      pair.engine->submit(*batch, reads, {.cls = Class::foreground, .first_task = &first}).ok());
  EXPECT_EQ(first, 0u);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
  EXPECT_EQ(batch->status(0).bytes, 1000u);
  EXPECT_EQ(batch->status(1).bytes, 300'000u);
  EXPECT_TRUE(pair.arrived(0, 1000));
  EXPECT_TRUE(pair.arrived(5000, 300'000));
  EXPECT_FALSE(pair.arrived(1000, 4000));
  std::memset(pair.local->data(), 0x5a, 100);
  const Request write = pair.request(0, 100, Opcode::write);
  ASSERT_TRUE(pair.engine->submit(*batch, {&write, 1}, {.first_task = &first}).ok());
  EXPECT_EQ(first, 2u);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(pair.exported->data()[99], std::byte{0x5a});
  EXPECT_EQ(batch->overall().completed, 3u);
  EXPECT_EQ(batch->overall().bytes, 301'100u);
  EXPECT_EQ(batch->status(3).state, State::invalid);
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

TEST_F(Submit, OneCallIsOneGroupWithAllItsFields) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(3);
  const auto requests = pair.apart(3, 512);
  ASSERT_TRUE(
      pair.engine
          ->submit(*batch, requests,
                   {.deadline = 5s, .max_queue_wait = 2s, .no_resubmit = true, .cookie = 77})
          .ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 3; }));
  const auto seen = daemon().snapshot();
  EXPECT_EQ(seen.groups, 1u);
  EXPECT_EQ(seen.cells[2].deadline_ns, 5'000'000'000u);
  EXPECT_EQ(seen.cells[2].max_queue_wait_ns, 2'000'000'000u);
  EXPECT_EQ(seen.cells[2].cookie, 77u);
  EXPECT_EQ(seen.cells[2].flags, kCellNoResubmit);
  EXPECT_EQ(seen.cells[2].local_offset, 2048u);
  EXPECT_EQ(seen.cells[2].remote_offset, pair.exported->region().segment_offset + 2048);
}

TEST_F(Submit, AnEmptyCallIsOk) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(1);
  EXPECT_TRUE(pair.engine->submit(*batch, {}).ok());
  EXPECT_EQ(batch->tasks(), 0u);
  EXPECT_TRUE(batch->done());
  EXPECT_EQ(batch->overall().state, State::completed);
  EXPECT_EQ(daemon().snapshot().groups, 0u);
}

TEST_F(Submit, AdjacentRequestsShareAnOwnerAndItsStatus) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 4; ++i) requests.push_back(pair.request(i * 100, 100));
  ASSERT_TRUE(pair.engine->submit(*batch, requests).ok());
  ASSERT_TRUE(pair.engine->submit(*batch, requests, {.merge = false}).ok());
  ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 5; }));
  EXPECT_EQ(daemon().snapshot().cells[0].length, 400u);
  EXPECT_EQ(batch->status(3).state, State::pending);
  daemon().hold(false);
  ASSERT_TRUE(batch->wait(kLong).ok());
  for (TaskId task = 0; task < 8; ++task) {
    EXPECT_EQ(batch->status(task).state, State::completed);
    EXPECT_EQ(batch->status(task).bytes, 100u);
  }
  EXPECT_EQ(batch->overall().tasks, 8u);
  EXPECT_EQ(batch->overall().bytes, 800u);
}

// Everything that is refused before anything is published, and that it then looks as before.
class Refusal : public ClientTest {
 protected:
  Refusal() {
    FakeDaemonOptions options;
    options.hold = true;
    options.limits.bytes = 600'000;
    options.grant = {8, 500'000, 8};
    options.sizes.class_mask = bit_of(ClassId::foreground) | bit_of(ClassId::standard);
    start(options);
    pair_ = std::make_unique<Pair>(connect("store-0"), connect("engine-0"));
    batch_ = std::make_unique<Result<Batch>>(pair_->engine->allocate_batch(16));
  }
  Batch& batch() { return **batch_; }
  Status submit(std::vector<Request> requests, const SubmitOptions& options = {}) {
    return pair_->engine->submit(batch(), requests, options);
  }
  void expect(Status status, Code code) {
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_FALSE(status.text().empty());
    EXPECT_EQ(batch().tasks(), 0u);
    EXPECT_TRUE(batch().done());
  }
  // Afterwards the whole credit is still there, and nothing but this call was ever published.
  void TearDown() override {
    std::vector<Request> all = pair_->apart(8, 60'000);
    ASSERT_TRUE(submit(all).ok());
    ASSERT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().transfers == 8; }));
    EXPECT_EQ(daemon().snapshot().groups, 1u);
    EXPECT_EQ(daemon().snapshot().violations, 0u);
  }
  std::unique_ptr<Pair> pair_;
  std::unique_ptr<Result<Batch>> batch_;
};

TEST_F(Refusal, LengthZero) {
  expect(submit({pair_->request(0, 0)}), Code::invalid_argument);
}

TEST_F(Refusal, OneBadRequestRefusesTheWholeCall) {
  expect(submit({pair_->request(0, 10), pair_->request(0, 0)}), Code::invalid_argument);
}

TEST_F(Refusal, LocalMemoryThatIsNotRegistered) {
  Request request = pair_->request(0, 10);
  int local = 0;
  request.local = &local;
  expect(submit({request}), Code::invalid_argument);
  expect(submit({pair_->request(Pair::kBytes - 5, 10)}), Code::invalid_argument);
  request.local = reinterpret_cast<void*>(UINTPTR_MAX - 4);
  expect(submit({request}), Code::invalid_argument);
}

TEST_F(Refusal, RemoteRangeThatWraps) {
  Request request = pair_->request(0, 10);
  request.remote_offset = UINT64_MAX - 9;
  expect(submit({request}), Code::invalid_argument);
}

TEST_F(Refusal, UnknownSegmentAndDirection) {
  Request request = pair_->request(0, 10);
  request.segment = SegmentId{1000};
  expect(submit({request}), Code::invalid_argument);
  request = pair_->request(0, 10);
  request.op = Opcode{7};
  expect(submit({request}), Code::invalid_argument);
}

TEST_F(Refusal, ClassThatWasNotGranted) {
  expect(submit({pair_->request(0, 10)}, {.cls = Class::background}), Code::not_permitted);
  expect(submit({pair_->request(0, 10)}, {.cls = Class{0}}), Code::invalid_argument);
}

TEST_F(Refusal, NegativeDuration) {
  expect(submit({pair_->request(0, 10)}, {.deadline = -1ns}), Code::invalid_argument);
}

TEST_F(Refusal, MoreTasksThanTheBatchHolds) {
  std::vector<Request> many;
  for (std::size_t i = 0; i < 17; ++i) many.push_back(pair_->request(i * 10, 10));
  // Also when they would merge into one owner: public tasks are what is counted.
  const Status status = submit(many);
  expect(status, Code::batch_full);
  EXPECT_FALSE(status.may_retry());
  many[16].length = 0;  // what can never succeed is said first
  expect(submit(many), Code::invalid_argument);
}

TEST_F(Refusal, MoreBytesThanALimitIsTooLargeAndNotRetryable) {
  const Status status = submit(pair_->apart(2, 300'001));
  expect(status, Code::too_large);
  EXPECT_FALSE(status.may_retry());
  EXPECT_NE(status.text().find("600000"), std::string::npos) << status.text();
}

TEST_F(Refusal, OverTheCreditAtOnceAndWithAWish) {
  const Status owners = submit(pair_->apart(9, 10));
  expect(owners, Code::too_many_requests);
  EXPECT_TRUE(owners.may_retry());
  expect(submit(pair_->apart(2, 250'001)), Code::too_many_requests);
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().wishes >= 1; }));
  EXPECT_EQ(daemon().snapshot().transfers, 0u);
}

TEST_F(Refusal, DrainingDaemon) {
  daemon().set_state(DaemonState::draining);
  expect(submit({pair_->request(0, 10)}), Code::draining);
  daemon().set_state(DaemonState::restarting);
  expect(submit({pair_->request(0, 10)}), Code::daemon_gone);
  daemon().set_state(DaemonState::quarantined);
  expect(submit({pair_->request(0, 10)}), Code::quarantined);
  daemon().set_state(DaemonState::running);
}

TEST_F(Refusal, BatchOfAnotherClient) {
  Result<Batch> other = pair_->store->allocate_batch(1);
  const Request request = pair_->request(0, 10);
  expect(pair_->engine->submit(*other, {&request, 1}), Code::invalid_argument);
  Batch empty;
  expect(pair_->engine->submit(empty, {&request, 1}), Code::invalid_argument);
}

TEST_F(Submit, ALargerRequestThanTheLargestOwnerIsTooLarge) {
  FakeDaemonOptions options;
  options.limits.largest_owner = 10'000;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(8);
  const Request request = pair.request(0, 10'001);
  EXPECT_EQ(pair.engine->submit(*batch, {&request, 1}).code(), Code::too_large);
  // Merging stops at the limit instead of making something too large.
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 4; ++i) requests.push_back(pair.request(i * 4000, 4000));
  ASSERT_TRUE(pair.engine->submit(*batch, requests).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(daemon().snapshot().transfers, 2u);
}

TEST_F(Submit, CallsAtTheLargestSizeAndOneMore) {
  FakeDaemonOptions options;
  options.limits.largest_call = 10;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(64);
  EXPECT_EQ(pair.engine->submit(*batch, pair.apart(11, 16)).code(), Code::too_large);
  EXPECT_TRUE(pair.engine->submit(*batch, pair.apart(10, 16)).ok());
  EXPECT_TRUE(pair.engine->submit(*batch, pair.apart(9, 16)).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 19u);
}

TEST_F(Submit, SourceAndTargetMustNotOverlapToOneself) {
  start();
  Result<Client> client = connect("self");
  const Result<Memory> memory = client->allocate(64_KiB);
  const Result<Segment> self = client->open_segment("self");
  Result<Batch> batch = client->allocate_batch(4);
  const std::uint64_t base = memory->region().segment_offset;
  Request request{Opcode::read, memory->data(), *self, base + 100, 101};
  EXPECT_EQ(client->submit(*batch, {&request, 1}).code(), Code::invalid_argument);
  request.local = memory->data() + 200;
  EXPECT_EQ(client->submit(*batch, {&request, 1}).code(), Code::invalid_argument);
  std::memset(memory->data() + 100, 0x33, 100);
  request = {Opcode::read, memory->data(), *self, base + 100, 100};
  EXPECT_TRUE(client->submit(*batch, {&request, 1}).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(memory->data()[99], std::byte{0x33});
}

TEST_F(Submit, ReadIntoReadOnlyMemoryIsNotPermitted) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  Rights rights(Access::none);
  rights.read_only = true;
  const Result<Memory> fixed = pair.engine->allocate(4096, {.access = rights});
  Result<Batch> batch = pair.engine->allocate_batch(4);
  Request request = pair.request(0, 100);
  request.local = fixed->data();
  EXPECT_EQ(pair.engine->submit(*batch, {&request, 1}).code(), Code::not_permitted);
  request.op = Opcode::write;
  EXPECT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  EXPECT_TRUE(batch->wait(kLong).ok());
}

TEST_F(Submit, NoMergeAcrossTwoRegionsOfTheExporter) {
  start();
  Result<Client> store = connect("store-0");
  const Result<Memory> memory = store->allocate(8192, {.registered = false});
  ASSERT_TRUE(store->register_memory(memory->data(), 4096).ok());
  ASSERT_TRUE(store->register_memory(memory->data() + 4096, 4096).ok());
  Result<Client> engine = connect("engine-0");
  const Result<Memory> local = engine->allocate(8192, {.access = Access::none});
  const Result<Segment> segment = engine->open_segment("store-0");
  const auto base = reinterpret_cast<std::uintptr_t>(memory->data());
  const Request requests[] = {{Opcode::read, local->data(), *segment, base, 4096},
                              {Opcode::read, local->data() + 4096, *segment, base + 4096, 4096}};
  Result<Batch> batch = engine->allocate_batch(2);
  ASSERT_TRUE(engine->submit(*batch, requests).ok());
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->overall().completed, 2u);
  EXPECT_EQ(daemon().snapshot().transfers, 2u);
}

TEST_F(Submit, SlotsComeBackWhenBatchesAreFreedAndNotBefore) {
  FakeDaemonOptions options;
  options.sizes.slots = 8;
  start(options);
  Pair pair(connect("store-0"), connect("engine-0"));
  EXPECT_EQ(pair.engine->limits().slots, 8u);
  Result<Batch> first = pair.engine->allocate_batch(8);
  Result<Batch> second = pair.engine->allocate_batch(8);
  EXPECT_EQ(pair.engine->submit(*second, pair.apart(8, 8)).code(), Code::ok);
  ASSERT_TRUE(second->wait(kLong).ok());
  const Status status = pair.engine->submit(*first, pair.apart(1, 8));
  EXPECT_EQ(status.code(), Code::too_many_requests);
  EXPECT_NE(status.text().find("free batches"), std::string::npos);
  pair.engine->free_batch(*second);
  for (int round = 0; round < 20; ++round) {
    Result<Batch> batch = pair.engine->allocate_batch(8);
    ASSERT_TRUE(pair.engine->submit(*batch, pair.apart(8, 8)).ok()) << round;
    ASSERT_TRUE(batch->wait(kLong).ok());
    EXPECT_EQ(batch->overall().completed, 8u);
  }
  EXPECT_EQ(daemon().snapshot().violations, 0u);
}

}  // namespace
}  // namespace tentq::testing
