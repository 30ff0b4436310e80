// WakeupFd alone; the race with completions is part of the conformance suite.
#include "transports/wakeup_fd.h"

#include <gtest/gtest.h>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

TEST(WakeupFd, RingingAnAwakeConductorWritesNothing) {
  WakeupFd wakeup;
  wakeup.ring();
  EXPECT_FALSE(is_readable(wakeup.fd()));
  wakeup.arm();
  wakeup.disarm();
  wakeup.ring();
  EXPECT_FALSE(is_readable(wakeup.fd()));
}

TEST(WakeupFd, RingsOnceForEachTimeItIsArmed) {
  WakeupFd wakeup;
  for (int i = 0; i < 3; ++i) {
    wakeup.arm();
    EXPECT_FALSE(is_readable(wakeup.fd()));
    wakeup.ring();
    wakeup.ring();
    EXPECT_TRUE(is_readable(wakeup.fd()));
    wakeup.disarm();
    EXPECT_FALSE(is_readable(wakeup.fd()));
  }
}

TEST(WakeupFd, ArmingTwiceLeavesNoOldRingBehind) {
  WakeupFd wakeup;
  wakeup.arm();
  wakeup.ring();
  wakeup.arm();
  wakeup.disarm();
  EXPECT_FALSE(is_readable(wakeup.fd()));
}

}  // namespace
}  // namespace tentq::test
