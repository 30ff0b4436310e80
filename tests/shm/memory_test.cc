// memfds, seals, mappings and the judgement of foreign fds.
#include "shm/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace tentq::shm {
namespace {

constexpr std::uint64_t kSize = 16 * kPage;
constexpr int kSkipped = 77;

Fd memory_of(std::uint64_t size) {
  int error = -1;
  Fd fd = create_memory("tentq-test", size, false, &error);
  EXPECT_EQ(error, 0) << std::strerror(error);
  return fd;
}

// Runs `body` in a child and returns its exit status; 256 + signal if it was killed.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

TEST(Memory, NewMemoryIsZeroAllocatedAndCloseOnExec) {
  const Fd fd = memory_of(kSize);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  int error = -1;
  const Mapping mapping = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, &error);
  ASSERT_EQ(error, 0);
  ASSERT_EQ(mapping.size(), kSize);
  for (const std::byte b : mapping.bytes()) ASSERT_EQ(b, std::byte{0});
  struct stat facts {};
  ASSERT_EQ(::fstat(fd.get(), &facts), 0);
  EXPECT_GE(static_cast<std::uint64_t>(facts.st_blocks) * 512, kSize);
}

TEST(Memory, SizesThatCannotBeAreErrors) {
  int error = 0;
  EXPECT_FALSE(create_memory("t", 0, false, &error).valid());
  EXPECT_EQ(error, EINVAL);
  EXPECT_FALSE(create_memory("t", std::uint64_t{1} << 63, false, &error).valid());
  EXPECT_EQ(error, EFBIG);
  EXPECT_FALSE(create_memory("t", ~std::uint64_t{0}, false, &error).valid());
  EXPECT_EQ(error, EFBIG);
  EXPECT_FALSE(create_memory("t", kPage, true, &error).valid());
  EXPECT_EQ(error, EINVAL);
}

TEST(Memory, FileSizeLimitIsAnErrorAndNoSignal) {
  EXPECT_EQ(in_child([] {
              const rlimit limit{kSize - 1, kSize - 1};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kSkipped;
              int error = 0;
              const Fd fd = create_memory("t", kSize, false, &error);
              return !fd.valid() && error == EFBIG ? 0 : 1;
            }),
            0);
}

TEST(Memory, FullMemoryIsAnErrorAndNoBusError) {
  char directory[] = "/tmp/tentq-full-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/m";
  const int result = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSkipped;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", directory, "tmpfs", 0, "size=64k") != 0) return kSkipped;
    const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return 1;
    if (allocate_pages(fd.get(), 1 << 20) != ENOSPC) return 2;
    if (allocate_pages(fd.get(), 32 << 10) != 0) return 3;
    MemoryFacts facts;
    if (inspect_memory(fd.get(), &facts) != 0) return 4;
    return facts.kind == MemoryKind::tmpfs && !facts.sealed_shrink ? 0 : 5;
  });
  ::rmdir(directory);
  if (result == kSkipped) GTEST_SKIP() << "no private mount namespace here";
  EXPECT_EQ(result, 0);
}

TEST(Memory, HugePagesThatTheHostLacksAreAnError) {
  int error = 0;
  // More than any host keeps in its pool.
  const Fd fd = create_memory("t", std::uint64_t{1} << 46, true, &error);
  EXPECT_FALSE(fd.valid());
  EXPECT_NE(error, 0);
}

TEST(Memory, MappingStartsAtAnyByte) {
  const Fd fd = memory_of(kSize);
  const Mapping whole = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, nullptr);
  whole.data()[kPage + 77] = std::byte{9};
  const Mapping part = Mapping::map(fd.get(), kPage + 77, 1000, Mapping::Mode::read_only, nullptr);
  ASSERT_TRUE(part.valid());
  EXPECT_EQ(part.size(), 1000u);
  EXPECT_EQ(part.data()[0], std::byte{9});
}

TEST(Memory, MappingBehindTheEndOfTheFileIsRefused) {
  const Fd fd = memory_of(kSize);
  const struct {
    std::uint64_t offset, size;
  } cases[] = {{0, kSize + 1},        {1, kSize}, {kSize, 1},
               {kSize + 1, 0},        {0, 0},     {~std::uint64_t{0}, 2},
               {2, ~std::uint64_t{0}}};
  for (const auto& wrong : cases) {
    int error = 0;
    const Mapping mapping =
        Mapping::map(fd.get(), wrong.offset, wrong.size, Mapping::Mode::read_only, &error);
    EXPECT_FALSE(mapping.valid());
    EXPECT_EQ(error, EINVAL) << wrong.offset << " " << wrong.size;
  }
  int error = 0;
  EXPECT_FALSE(Mapping::map(-1, 0, 1, Mapping::Mode::read_only, &error).valid());
  EXPECT_EQ(error, EBADF);
}

TEST(Memory, MovedMappingStaysAndTheOtherIsEmpty) {
  const Fd fd = memory_of(kSize);
  Mapping first = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, nullptr);
  std::byte* const data = first.data();
  Mapping second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
}

TEST(Memory, SealedSizeCannotChange) {
  const Fd fd = memory_of(kSize);
  ASSERT_EQ(seal_size(fd.get()), 0);
  EXPECT_NE(::ftruncate(fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(fd.get(), 2 * kSize), 0);
  EXPECT_EQ(seal_shrink(fd.get()), EPERM);  // no further seals
}

TEST(Memory, ShrinkSealLeavesGrowingOpen) {
  const Fd fd = memory_of(kSize);
  ASSERT_EQ(seal_shrink(fd.get()), 0);
  EXPECT_NE(::ftruncate(fd.get(), kSize - 1), 0);
  EXPECT_EQ(::ftruncate(fd.get(), kSize + 1), 0);
}

TEST(Memory, FutureWriteSealStopsEveryNewWriterAndNotTheOldMapping) {
  const Fd fd = memory_of(kSize);
  const Mapping old = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, nullptr);
  ASSERT_EQ(seal_future_write(fd.get()), 0);
  int error = 0;
  EXPECT_FALSE(Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, &error).valid());
  EXPECT_EQ(error, EPERM);
  EXPECT_LT(::pwrite(fd.get(), "x", 1, 0), 0);
  // A new open file does not help, neither for writing nor for cutting.
  const std::string again = "/proc/self/fd/" + std::to_string(fd.get());
  const Fd reopened(::open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (reopened.valid()) {
    EXPECT_LT(::pwrite(reopened.get(), "x", 1, 0), 0);
    EXPECT_FALSE(Mapping::map(reopened.get(), 0, kSize, Mapping::Mode::read_write, &error).valid());
    EXPECT_EQ(error, EPERM);
  }
  EXPECT_LT(::open(again.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC), 0);
  EXPECT_NE(::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  // A read-only mapping cannot be made writable.
  const Mapping reader = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_only, nullptr);
  ASSERT_TRUE(reader.valid());
  EXPECT_NE(::mprotect(reader.data(), kSize, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::madvise(reader.data(), kPage, MADV_REMOVE), 0);
  old.data()[5] = std::byte{7};
  EXPECT_EQ(reader.data()[5], std::byte{7});
}

TEST(Memory, ForeignFdsAreToldApart) {
  MemoryFacts facts;
  const Fd plain = memory_of(kSize);
  ASSERT_EQ(inspect_memory(plain.get(), &facts), 0);
  EXPECT_EQ(facts.kind, MemoryKind::memfd_unsealed);
  EXPECT_EQ(facts.size, kSize);
  EXPECT_FALSE(facts.sealed_shrink);
  ASSERT_EQ(seal_shrink(plain.get()), 0);
  ASSERT_EQ(inspect_memory(plain.get(), &facts), 0);
  EXPECT_EQ(facts.kind, MemoryKind::memfd_sealed);
  EXPECT_TRUE(facts.sealed_shrink);
  EXPECT_NE(facts.inode, 0u);
  for (const char* path : {"/proc/self/exe", "/dev/null", "/dev/zero", "/"}) {
    const Fd other(::open(path, O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(other.valid());
    ASSERT_EQ(inspect_memory(other.get(), &facts), 0) << path;
    EXPECT_EQ(facts.kind, MemoryKind::other) << path;
    EXPECT_EQ(facts.size, 0u);
  }
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const Fd reading(pipe_ends[0]), writing(pipe_ends[1]);
  ASSERT_EQ(inspect_memory(reading.get(), &facts), 0);
  EXPECT_EQ(facts.kind, MemoryKind::other);
  EXPECT_EQ(inspect_memory(-1, &facts), EBADF);
}

TEST(Memory, TwoFdsOfOneFileHaveOneIdentity) {
  const Fd a = memory_of(kSize);
  const Fd b = memory_of(kSize);
  const Fd copy(::fcntl(a.get(), F_DUPFD_CLOEXEC, 0));
  MemoryFacts of_a, of_b, of_copy;
  ASSERT_EQ(inspect_memory(a.get(), &of_a), 0);
  ASSERT_EQ(inspect_memory(b.get(), &of_b), 0);
  ASSERT_EQ(inspect_memory(copy.get(), &of_copy), 0);
  EXPECT_EQ(of_a.inode, of_copy.inode);
  EXPECT_EQ(of_a.device, of_copy.device);
  EXPECT_NE(of_a.inode, of_b.inode);
}

TEST(Memory, HolesAreSeenAndTouchedPagesAreNotHoles) {
  Fd fd(::memfd_create("tentq-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), kSize), 0);
  EXPECT_TRUE(has_holes(fd.get(), 0, kSize));
  const Mapping mapping = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, nullptr);
  ASSERT_EQ(populate(mapping.data(), kSize / 2, true, nullptr, nullptr), 0);
  EXPECT_FALSE(has_holes(fd.get(), 0, kSize / 2));
  EXPECT_FALSE(has_holes(fd.get(), 100, kSize / 2 - 100));
  EXPECT_TRUE(has_holes(fd.get(), 0, kSize));
  EXPECT_TRUE(has_holes(fd.get(), kSize / 2 - 1, kPage));
  ASSERT_EQ(populate(mapping.data(), kSize, true, nullptr, nullptr), 0);
  EXPECT_FALSE(has_holes(fd.get(), 0, kSize));
  EXPECT_TRUE(has_holes(fd.get(), 0, kSize + 1));
  EXPECT_TRUE(has_holes(fd.get(), ~std::uint64_t{0}, 1));
  EXPECT_TRUE(has_holes(fd.get(), 1, ~std::uint64_t{0}));
}

struct Progress {
  std::vector<std::uint64_t> steps;
  std::size_t stop_after = 100;
  static bool note(void* cookie, std::uint64_t done) {
    auto* self = static_cast<Progress*>(cookie);
    self->steps.push_back(done);
    return self->steps.size() < self->stop_after;
  }
};

TEST(Memory, PopulateReportsItsStepsAndCanBeStopped) {
  constexpr std::uint64_t kStep = std::uint64_t{64} << 20;
  const std::uint64_t size = 2 * kStep + kPage;
  Fd fd(::memfd_create("tentq-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  const Mapping mapping = Mapping::map(fd.get(), 0, size, Mapping::Mode::read_write, nullptr);
  Progress progress;
  progress.stop_after = 2;
  EXPECT_EQ(populate(mapping.data(), size, false, &Progress::note, &progress), ECANCELED);
  EXPECT_EQ(progress.steps, (std::vector<std::uint64_t>{kStep, 2 * kStep}));
  progress = Progress{};
  EXPECT_EQ(populate(mapping.data(), size, false, &Progress::note, &progress), 0);
  EXPECT_EQ(progress.steps, (std::vector<std::uint64_t>{kStep, 2 * kStep, size}));
}

TEST(Memory, PopulateOfARangeInsideAPageWorks) {
  const Fd fd = memory_of(kSize);
  const Mapping part = Mapping::map(fd.get(), 100, kSize - 200, Mapping::Mode::read_write, nullptr);
  Progress progress;
  EXPECT_EQ(populate(part.data(), part.size(), true, &Progress::note, &progress), 0);
  EXPECT_EQ(progress.steps, std::vector<std::uint64_t>{kSize - 200});
}

TEST(Memory, PopulateOfATruncatedFileIsAnErrorAndNoBusError) {
  const Fd fd = memory_of(kSize);
  const Mapping mapping = Mapping::map(fd.get(), 0, kSize, Mapping::Mode::read_write, nullptr);
  ASSERT_EQ(::ftruncate(fd.get(), kPage), 0);
  EXPECT_EQ(populate(mapping.data(), kSize, false, nullptr, nullptr), EFAULT);
  EXPECT_EQ(populate(mapping.data(), kSize, true, nullptr, nullptr), EFAULT);
}

TEST(Memory, FdClosesItselfOnceAndMoves) {
  Fd first = memory_of(kPage);
  const int raw = first.get();
  Fd second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), raw);
  second = memory_of(kPage);
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  const int released = second.release();
  EXPECT_FALSE(second.valid());
  EXPECT_EQ(::close(released), 0);
}

}  // namespace
}  // namespace tentq::shm
