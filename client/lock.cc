// Waiting for the short lock. See lock.h.
#include "client/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tentq::lib {

void Lock::lock_contended() {
  constexpr int kPolls = 200;
  constexpr timespec kNap{0, 50'000};
  for (;;) {
    for (int i = 0; i < kPolls; ++i) {
      if (word_.load(std::memory_order_relaxed) == 0 &&
          word_.exchange(1, std::memory_order_acquire) == 0) {
        return;
      }
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    // Nobody wakes it: the kernel lets the holder run meanwhile, also one of a lower priority.
    ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 1, &kNap, nullptr, 0);
  }
}

}  // namespace tentq::lib
