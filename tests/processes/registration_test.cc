// Registered memory: what can be registered, twice or overlapping, by two clients; what happens
// when it is unregistered, unmapped or replaced; and that nothing is left of it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "shm/memory.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/support/proc.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class Registration : public DaemonFixture {};

// A sealed memfd, mapped and touched.
struct SharedFile {
  shm::Fd fd;
  std::byte* data = nullptr;
  std::size_t size = 0;

  explicit SharedFile(std::size_t bytes) : size(bytes) {
    int error = 0;
    fd = shm::create_memory("shared-file", bytes, false, &error);
    if (error == 0) error = shm::seal_shrink(fd.get());
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (error != 0 || mapped == MAP_FAILED) throw std::runtime_error("memory");
    data = static_cast<std::byte*>(mapped);
    std::fill(data, data + bytes, std::byte{0});
  }
  ~SharedFile() { ::munmap(data, size); }
  std::span<std::byte> bytes() const { return {data, size}; }
};

TEST_F(Registration, OverlappingRangesOfOneClientAreANamedError) {
  start();
  Client client = attach(socket(), "engine");
  Memory memory = need(client.allocate(64_KiB, {.registered = false}), "allocate");
  const Region region = need(client.register_memory(memory.data() + 16_KiB, 16_KiB), "register");
  const std::size_t starts[] = {16_KiB, 20_KiB, 12_KiB, 28_KiB, 16_KiB};
  const std::size_t sizes[] = {16_KiB, 4_KiB, 8_KiB, 8_KiB, 48_KiB};
  for (std::size_t i = 0; i < std::size(starts); ++i) {
    const auto again = client.register_memory(memory.data() + starts[i], sizes[i]);
    EXPECT_EQ(again.status().code(), Code::invalid_argument) << starts[i] << " " << sizes[i];
    EXPECT_FALSE(again.status().text().empty());
  }
  const Region below = need(client.register_memory(memory.data(), 16_KiB), "adjacent below");
  const Region above = need(client.register_memory(memory.data() + 32_KiB, 32_KiB), "above");
  EXPECT_NE(below.id, above.id);
  EXPECT_EQ(ask(QueryKind::status).at("regions"), 3);
  need(client.unregister(region), "unregister");
  EXPECT_EQ(client.unregister(region).code(), Code::not_found);
  need(client.register_memory(memory.data() + 16_KiB, 16_KiB).status(), "again");
}

TEST_F(Registration, OneFileOfTwoClientsIsTwoRegions) {
  start();
  SharedFile file(1_MiB);
  Client first = attach(socket(), "first");
  Client second = attach(socket(), "second");
  Client reader = attach(socket(), "reader");
  const RegisterOptions at_zero{.segment_offset = 0};
  const Region one =
      need(first.register_fd(file.fd.get(), 0, 1_MiB, file.data, {}, at_zero), "first");
  need(second.register_fd(file.fd.get(), 0, 1_MiB, file.data, {}, at_zero).status(), "second");
  const Segment of_first = need(reader.open_segment("first"), "open first");
  const Segment of_second = need(reader.open_segment("second"), "open second");
  Memory memory = allocate_at(reader, 64_KiB);
  fill_pattern(file.bytes(), 1);
  must_complete(reader, read_from(of_first, 0, memory.bytes()));
  need(first.unregister(one), "unregister");
  const BatchStatus gone = transfer(reader, read_from(of_first, 0, memory.bytes()));
  EXPECT_EQ(gone.reason, TaskReason::out_of_range);
  fill_pattern(file.bytes(), 2);
  must_complete(reader, read_from(of_second, 0, memory.bytes()));
  EXPECT_EQ(pattern_differences(memory.bytes(), 2), 0u);
}

TEST_F(Registration, MemoryThatIsNotSharedSaysWhatToDo) {
  start();
  Client client = attach(socket(), "engine");
  std::vector<std::byte> heap(64_KiB);
  const Status refused = client.register_memory(heap.data(), heap.size()).status();
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_NE((refused.text() + std::string(refused.remedy())).find("allocate"), std::string::npos)
      << refused.to_string();
  EXPECT_FALSE(refused.may_retry());
  const shm::Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(client.register_fd(file.get(), 0, 4'096, heap.data()).ok());
  EXPECT_FALSE(client.register_fd(-1, 0, 4'096, heap.data()).ok());
  EXPECT_EQ(ask(QueryKind::status).at("regions"), 0);
}

TEST_F(Registration, AFileShorterThanTheRangeIsRefused) {
  start();
  SharedFile file(64_KiB);
  Client client = attach(socket(), "engine");
  for (const auto& [offset, length] :
       {std::pair{std::size_t{0}, 68_KiB}, {60_KiB, 8_KiB}, {64_KiB, 4_KiB}, {128_KiB, 4_KiB}}) {
    EXPECT_EQ(client.register_fd(file.fd.get(), offset, length, file.data).status().code(),
              Code::invalid_argument)
        << offset << " " << length;
  }
  need(client.register_fd(file.fd.get(), 0, 64_KiB, file.data).status(), "exact");
}

TEST_F(Registration, HolesAreRefusedUnlessTheyAreAllowed) {
  for (const bool allowed : {false, true}) {
    start({{"memory", {{"allow_sparse", allowed}}}});
    const shm::Fd fd(::memfd_create("holes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(fd.get(), 1_MiB), 0);
    void* data = ::mmap(nullptr, 1_MiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    Client client = attach(socket(), "engine");
    EXPECT_EQ(client.register_fd(fd.get(), 0, 1_MiB, data).status().code(), Code::invalid_argument);
    const auto sparse = client.register_fd(fd.get(), 0, 1_MiB, data, {}, {.sparse = true});
    EXPECT_EQ(sparse.status().code(), allowed ? Code::ok : Code::not_permitted);
    ::munmap(data, 1_MiB);
  }
}

// The registration means the file that was registered, not the address: what lies there now is not
// touched.
TEST_F(Registration, MemoryReplacedAtItsAddressIsNeverTouched) {
  start();
  Exporter store(socket());
  store.fill(1, 0, 1_MiB);
  std::optional<SharedFile> file(64_KiB);
  SharedFile other(64_KiB);
  Client client = attach(socket(), "engine");
  need(client.register_fd(file->fd.get(), 0, 64_KiB, file->data).status(), "register");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  std::byte* address = file->data;
  void* replaced =
      ::mmap(address, 64_KiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, other.fd.get(), 0);
  ASSERT_EQ(replaced, address);
  fill_pattern(other.bytes(), 7);
  const BatchStatus read =
      transfer(client, read_from(segment, 0, std::span<std::byte>(address, 64_KiB)));
  EXPECT_EQ(read.state, State::completed);
  EXPECT_EQ(pattern_differences(other.bytes(), 7), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Registration, UnregisteringWhatIsInUseIsBusyOrWaits) {
  start(narrow_lanes());
  Exporter store(socket(), {.bytes = 16_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 16_MiB);
  Batch batch = need(client.allocate_batch(64), "allocate_batch");
  const Request request = write_to(segment, 0, memory.bytes());
  for (int i = 0; i < 64; ++i) {
    need(client.submit_wait(batch, std::span(&request, 1), {}, kLong), "submit");
  }
  const Status busy = client.unregister(memory.region());
  EXPECT_EQ(busy.code(), Code::busy) << busy.to_string();
  EXPECT_TRUE(busy.may_retry());
  EXPECT_EQ(store.unregister(), Code::busy);
  need(client.unregister_wait(memory.region(), kLong), "unregister_wait");
  EXPECT_TRUE(batch.done());
  EXPECT_EQ(batch.overall().completed, 64u);
  EXPECT_EQ(store.unregister(), Code::ok);
  EXPECT_TRUE(eventually(kLong, [&] { return ask(QueryKind::status).at("regions") == 0; }));
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Registration, LimitsOfRegionsAndMemoryAreNamed) {
  start(
      {{"sessions", {{"regions", 4}, {"host_regions", 6}}}, {"memory", {{"most_bytes", "1MiB"}}}});
  Client client = attach(socket(), "engine");
  std::vector<Memory> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(need(client.allocate(64_KiB), "allocate"));
  const Status fifth = client.allocate(64_KiB).status();
  EXPECT_EQ(fifth.code(), Code::exhausted);
  EXPECT_NE(fifth.text().find("sessions.regions"), std::string::npos) << fifth.text();
  Client other = attach(socket(), "other");
  const Status large = other.allocate(1_MiB).status();
  EXPECT_EQ(large.code(), Code::exhausted);
  EXPECT_NE(large.text().find("memory.most"), std::string::npos) << large.text();
  std::vector<Memory> others;
  for (int i = 0; i < 2; ++i) others.push_back(need(other.allocate(4_KiB), "allocate"));
  const Status host = other.allocate(4_KiB).status();
  EXPECT_EQ(host.code(), Code::exhausted) << host.to_string();
  kept.pop_back();
  EXPECT_TRUE(eventually(kLong, [&] { return other.allocate(4_KiB).ok(); }));
}

// Said at once, instead of by the kernel when it kills somebody.
TEST_F(Registration, MoreMemoryThanThereIsIsRefusedAtOnce) {
  start();
  Client client = attach(socket(), "engine");
  struct sysinfo host {};
  ASSERT_EQ(::sysinfo(&host), 0);
  const std::size_t all = (host.totalram + host.totalswap) * host.mem_unit;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::size_t bytes : {all + 1_GiB, 2 * all, std::size_t{1} << 50}) {
    const Status refused = client.allocate(bytes).status();
    EXPECT_EQ(refused.code(), Code::exhausted) << refused.to_string();
    EXPECT_FALSE(refused.remedy().empty());
  }
  EXPECT_EQ(client.allocate(~std::size_t{0}).status().code(), Code::invalid_argument);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{5});
  need(client.allocate(64_KiB).status(), "allocate");
}

TEST_F(Registration, AThousandTimesAndNothingIsLeft) {
  start();
  Client client = attach(socket(), "engine");
  for (int i = 0; i < 20; ++i) need(client.allocate(64_KiB).status(), "allocate");
  ASSERT_TRUE(eventually(kLong, [&] { return ask(QueryKind::status).at("regions") == 0; }));
  const ProcessFacts daemon_before = facts_of(daemon().pid());
  const ProcessFacts own_before = facts_of(::getpid());
  for (int i = 0; i < 1'000; ++i) {
    Memory memory = need(client.allocate(64_KiB), "allocate");
    if (i % 2 == 0) need(client.unregister(memory.region()), "unregister");
  }
  EXPECT_TRUE(eventually(kLong, [&] {
    const ProcessFacts now = facts_of(daemon().pid());
    return now.fds <= daemon_before.fds && now.memfd_maps <= daemon_before.memfd_maps;
  })) << facts_of(daemon().pid()).to_string();
  EXPECT_TRUE(eventually(kLong, [&] {
    const ProcessFacts now = facts_of(::getpid());
    return now.fds <= own_before.fds && now.memfd_maps <= own_before.memfd_maps;
  })) << facts_of(::getpid()).to_string();
}

}  // namespace
}  // namespace tentq::test
