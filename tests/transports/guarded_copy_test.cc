// The SIGBUS guard: what it saves and what it passes on.
#include "transports/shm/guarded_copy.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/transports/rig.h"
#include "tests/transports/vanishing_memory.h"

namespace tentq::test {
namespace {

constexpr std::size_t kSize = 256u << 10;

class GuardedCopy : public testing::TestWithParam<CopyRoutine> {
 protected:
  static void SetUpTestSuite() {
    install_sigbus_guard();
    install_sigbus_guard();
  }
  void SetUp() override {
    if (!runs_here(GetParam())) GTEST_SKIP() << "this processor lacks " << name_of(GetParam());
  }
  std::vector<std::byte> ordinary_ = std::vector<std::byte>(kSize, std::byte{9});
};

INSTANTIATE_TEST_SUITE_P(Routines, GuardedCopy, testing::ValuesIn(kCopyRoutines));

TEST_P(GuardedCopy, CopiesWhatIsThere) {
  VanishingMemory memory(kSize);
  EXPECT_TRUE(guarded_copy(GetParam(), memory.data(), ordinary_.data(), kSize));
  EXPECT_EQ(std::memcmp(memory.data(), ordinary_.data(), kSize), 0);
}

TEST_P(GuardedCopy, AVanishedTargetFailsTheCopyAgainAndAgain) {
  VanishingMemory memory(kSize);
  memory.shrink_to(kSize / 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(guarded_copy(GetParam(), memory.data(), ordinary_.data(), kSize));
    EXPECT_TRUE(guarded_copy(GetParam(), memory.data(), ordinary_.data(), kSize / 2));
  }
}

TEST_P(GuardedCopy, AVanishedSourceFailsTheCopy) {
  VanishingMemory memory(kSize);
  memory.shrink_to(4096);
  EXPECT_FALSE(guarded_copy(GetParam(), ordinary_.data(), memory.data(), kSize));
  EXPECT_FALSE(guarded_copy(GetParam(), ordinary_.data(), memory.data() + kSize - 1, 1));
  EXPECT_TRUE(guarded_copy(GetParam(), ordinary_.data(), memory.data() + 1, 4095));
}

TEST_P(GuardedCopy, UnalignedRangesFaultLikeOthers) {
  VanishingMemory memory(kSize);
  memory.shrink_to(8192);
  for (const std::size_t offset : {1ul, 63ul, 4095ul, 8191ul}) {
    EXPECT_FALSE(guarded_copy(GetParam(), memory.data() + offset, ordinary_.data(), 9000));
  }
}

TEST_P(GuardedCopy, SurvivesMemoryThatVanishesUnderIt) {
  std::atomic<int> round{0};
  std::atomic<bool> over{false};
  VanishingMemory memory(kSize);
  std::thread taker([&] {
    for (int seen = 0; !over.load();) {
      if (round.load() == seen) {
        std::this_thread::yield();
        continue;
      }
      seen = round.load();
      memory.shrink_to(kSize / 4);
      memory.grow_to(kSize);
    }
  });
  int faults = 0;
  for (int i = 0; i < 200; ++i) {
    round.fetch_add(1);
    for (int k = 0; k < 4; ++k) {
      if (!guarded_copy(GetParam(), memory.data(), ordinary_.data(), kSize)) ++faults;
    }
  }
  over.store(true);
  taker.join();
  RecordProperty("faults", faults);
  EXPECT_TRUE(guarded_copy(GetParam(), memory.data(), ordinary_.data(), kSize));
}

TEST_P(GuardedCopy, TheSignalMaskIsTheSameAfterAFault) {
  VanishingMemory memory(4096);
  memory.shrink_to(0);
  EXPECT_FALSE(guarded_copy(GetParam(), memory.data(), ordinary_.data(), 4096));
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGBUS), 0);
}

constexpr int kNotAllowed = 77;

// In a process of its own: a tmpfs of 64 KiB that is full, and a file with a hole in it.
int copy_into_a_hole() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNotAllowed;
  char directory[] = "/tmp/tentq-full-XXXXXX";
  if (mkdtemp(directory) == nullptr) return kNotAllowed;
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (mount("none", directory, "tmpfs", 0, "size=64k") != 0) {
    rmdir(directory);
    return kNotAllowed;
  }
  const std::string path = std::string(directory) + "/sparse";
  FILE* file = fopen(path.c_str(), "w+");
  bool fine = file != nullptr && ftruncate(fileno(file), kSize) == 0;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  const std::vector<std::byte> source(kSize, std::byte{1});
  auto* target = static_cast<std::byte*>(memory);
  fine = fine && memory != MAP_FAILED;
  fine = fine && guarded_copy(cached_routine(), target, source.data(), 16'384);
  fine = fine && !guarded_copy(cached_routine(), target, source.data(), kSize);
  fine = fine && !guarded_copy(streamed_routine(), target + kSize / 2, source.data(), kSize / 2);
  munmap(memory, kSize);
  umount2(directory, MNT_DETACH);
  rmdir(directory);
  return fine ? 0 : 1;
}

TEST(GuardedCopyInAFullTmpfs, AHoleFailsTheCopy) {
  const pid_t child = fork();
  if (child == 0) {
    install_sigbus_guard();
    _exit(copy_into_a_hole());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "this process may not mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Children that are run from the beginning, so that each has its own first handler.
class SigbusDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void touch_vanished() {
  VanishingMemory memory(8192);
  memory.shrink_to(0);
  *reinterpret_cast<volatile char*>(memory.data()) = 1;
}

TEST_F(SigbusDeathTest, AFaultOutsideOfACopyEndsTheProcess) {
  EXPECT_DEATH(
      {
        signal(SIGBUS, SIG_DFL);
        install_sigbus_guard();
        touch_vanished();
      },
      "");
}

TEST_F(SigbusDeathTest, AFaultAfterACopyThatFailedEndsTheProcess) {
  EXPECT_DEATH(
      {
        signal(SIGBUS, SIG_IGN);
        install_sigbus_guard();
        VanishingMemory memory(4096);
        memory.shrink_to(0);
        std::byte one{1};
        if (guarded_copy(CopyRoutine::libc, memory.data(), &one, 1)) _exit(0);
        touch_vanished();
        _exit(0);
      },
      "");
}

TEST_F(SigbusDeathTest, ASignalSentByAnotherProcessStillEndsThisOne) {
  EXPECT_DEATH(
      {
        signal(SIGBUS, SIG_DFL);
        install_sigbus_guard();
        kill(getpid(), SIGBUS);
        _exit(0);
      },
      "");
}

void leave_with_41(int, siginfo_t*, void*) {
  _exit(41);
}
void leave_with_42(int) {
  _exit(42);
}

TEST_F(SigbusDeathTest, OtherFaultsGoToThePreviousAction) {
  EXPECT_EXIT(
      {
        struct sigaction previous = {};
        previous.sa_sigaction = leave_with_41;
        previous.sa_flags = SA_SIGINFO;
        sigaction(SIGBUS, &previous, nullptr);
        install_sigbus_guard();
        touch_vanished();
      },
      testing::ExitedWithCode(41), "");
  EXPECT_EXIT(
      {
        signal(SIGBUS, leave_with_42);
        install_sigbus_guard();
        touch_vanished();
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace tentq::test
