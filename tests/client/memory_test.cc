// Allocating and registering memory.
#include <sys/mman.h>

#include "tests/client/fixture.h"

namespace tentq::testing {
namespace {

class MemoryCalls : public ClientTest {};

TEST_F(MemoryCalls, AllocatedMemoryIsRegisteredAtItsAddress) {
  start();
  Result<Client> client = connect("store-0");
  std::uint64_t done = 0;
  const Result<Memory> memory = client->allocate(
      5000, {.access = Access::remote_read,
             .progress = [&](std::uint64_t bytes, std::uint64_t) { done = bytes; }});
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_EQ(memory->size(), 8192u);
  EXPECT_NE(memory->region().id, 0u);
  EXPECT_EQ(memory->region().segment_offset, reinterpret_cast<std::uintptr_t>(memory->data()));
  EXPECT_EQ(done, 8192u);
  Result<Client> engine = connect("engine-0");
  const Result<Segment> segment = engine->open_segment("store-0");
  ASSERT_TRUE(segment.ok());
  const auto regions = segment->regions();
  ASSERT_EQ(regions->size(), 1u);
  EXPECT_EQ(regions->at(0).access, Access::remote_read);
  EXPECT_EQ(regions->at(0).size, 8192u);
}

TEST_F(MemoryCalls, PartsOfUnregisteredMemoryWithRightsOfTheirOwn) {
  start();
  Result<Client> client = connect("store-0");
  const Result<Memory> memory = client->allocate(16384, {.registered = false});
  EXPECT_EQ(memory->region().id, 0u);
  const auto low = client->register_memory(memory->data(), 4096, Access::remote_read);
  ASSERT_TRUE(low.ok()) << low.status().to_string();
  const auto high =
      client->register_memory(memory->data() + 8192, 8192, Access::none, {.segment_offset = 0});
  ASSERT_TRUE(high.ok()) << high.status().to_string();
  EXPECT_EQ(high->segment_offset, 0u);
  EXPECT_EQ(high->offset_of(memory->data() + 8200), 8u);
  const auto overlap = client->register_memory(memory->data() + 4095, 2);
  EXPECT_EQ(overlap.status().code(), Code::invalid_argument);
  EXPECT_TRUE(client->unregister(*low).ok());
  EXPECT_EQ(client->unregister(*low).code(), Code::not_found);
  EXPECT_TRUE(client->register_memory(memory->data(), 4096).ok());
}

TEST_F(MemoryCalls, PrivateMemoryIsUnsupportedAndSaysWhatToUse) {
  start();
  Result<Client> client = connect("store-0");
  std::vector<char> heap(4096);
  const auto region = client->register_memory(heap.data(), heap.size());
  EXPECT_EQ(region.status().code(), Code::unsupported);
  EXPECT_NE(region.status().text().find("allocate()"), std::string::npos);
  EXPECT_NE(region.status().text().find("register_fd()"), std::string::npos);
}

TEST_F(MemoryCalls, RegisterFdChecksTheFile) {
  start();
  Result<Client> client = connect("store-0");
  const shm::Fd fd(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), 8192), 0);
  void* const at = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  EXPECT_EQ(client->register_fd(fd.get(), 0, 8193, at).status().code(), Code::invalid_argument);
  EXPECT_EQ(client->register_fd(fd.get(), 8192, 1, at).status().code(), Code::invalid_argument);
  EXPECT_EQ(client->register_fd(fd.get(), UINT64_MAX, 2, at).status().code(),
            Code::invalid_argument);
  EXPECT_EQ(client->register_fd(-1, 0, 1, at).status().code(), Code::invalid_argument);
  EXPECT_EQ(client->register_fd(fd.get(), 0, 8192, nullptr).status().code(),
            Code::invalid_argument);
  const auto region = client->register_fd(fd.get(), 4096, 4096, static_cast<std::byte*>(at) + 4096);
  ASSERT_TRUE(region.ok()) << region.status().to_string();
  EXPECT_EQ(region->data, static_cast<std::byte*>(at) + 4096);
  EXPECT_TRUE(client->unregister_wait(*region, kLong).ok());
  ::munmap(at, 8192);
}

TEST_F(MemoryCalls, TheDaemonsRefusalIsTheAnswer) {
  start();
  Result<Client> client = connect("store-0");
  daemon().fail_registrations(StatusCode::exhausted);
  const auto memory = client->allocate(4096);
  EXPECT_EQ(memory.status().code(), Code::exhausted);
  EXPECT_EQ(memory.status().text(), "the fake daemon was told to refuse");
  daemon().fail_registrations(StatusCode::ok);
  EXPECT_TRUE(client->allocate(4096).ok());  // nothing of the refused one is left
}

TEST_F(MemoryCalls, ExportingNeedsSomebodyWhoComesBack) {
  start();
  Result<Client> alone = connect("store-0", {.background_thread = false});
  EXPECT_EQ(alone->allocate(4096).status().code(), Code::invalid_argument);
  EXPECT_TRUE(alone->allocate(4096, {.access = Access::none}).ok());
  EXPECT_EQ(alone->receive_notifications().status().code(), Code::invalid_argument);
  Result<Client> driven = connect("store-1", {.background_thread = false, .promise_drive = true});
  EXPECT_TRUE(driven->allocate(4096).ok());
  EXPECT_TRUE(driven->receive_notifications().ok());
}

TEST_F(MemoryCalls, UnregisteringMemoryInUseIsBusy) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(1);
  const Request request = pair.request(0, 4096);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  EXPECT_EQ(pair.engine->unregister(pair.local->region()).code(), Code::busy);
  EXPECT_EQ(pair.engine->unregister_wait(pair.local->region(), 1ms).code(), Code::timeout);
  daemon().hold(false);
  EXPECT_TRUE(pair.engine->unregister_wait(pair.local->region(), kLong).ok());
  EXPECT_EQ(pair.engine->submit(*batch, {&request, 1}).code(), Code::invalid_argument);
}

TEST_F(MemoryCalls, MemoryFreedUnderATransferStaysRegisteredUntilItIsDone) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(2);
  const Request request = pair.request(0, 4096);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  pair.local = Status(Code::not_found, "freed");
  EXPECT_EQ(pair.engine->submit(*batch, {&request, 1}).code(), Code::invalid_argument);
  EXPECT_EQ(daemon().snapshot().unregistrations, 0u);
  daemon().hold(false);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
  (void)pair.engine->drive();
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().unregistrations == 1; }));
}

TEST_F(MemoryCalls, SegmentClosedUnderATransferStaysOpenUntilItIsDone) {
  start({.hold = true});
  Pair pair(connect("store-0"), connect("engine-0"));
  Result<Batch> batch = pair.engine->allocate_batch(2);
  const Request request = pair.request(0, 4096);
  ASSERT_TRUE(pair.engine->submit(*batch, {&request, 1}).ok());
  pair.segment = Status(Code::not_found, "closed");
  EXPECT_EQ(pair.engine->submit(*batch, {&request, 1}).code(), Code::invalid_argument);
  EXPECT_EQ(daemon().snapshot().closes, 0u);
  daemon().hold(false);
  ASSERT_TRUE(batch->wait(kLong).ok());
  EXPECT_EQ(batch->status(0).state, State::completed);
  (void)pair.engine->drive();
  EXPECT_TRUE(daemon().await([](const FakeDaemon& d) { return d.seen().closes == 1; }));
}

TEST_F(MemoryCalls, MemoryMayOutliveItsClient) {
  start();
  Result<Client> client = connect("store-0");
  Result<Memory> memory = client->allocate(4096);
  client = Status(Code::not_found, "closed");
  memory->data()[4095] = std::byte{1};
}

TEST_F(MemoryCalls, UnknownSegmentIsNotFound) {
  start();
  Result<Client> client = connect("engine-0");
  EXPECT_EQ(client->open_segment("nobody").status().code(), Code::not_found);
  EXPECT_EQ(client->open_segment("").status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace tentq::testing
