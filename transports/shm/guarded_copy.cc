// See guarded_copy.h. The handler runs on the faulting thread, in the middle of a copy: it looks at
// that thread's frame and jumps out, or passes the signal on. The jump does not restore the signal
// mask (saving it would cost every copy a system call), so the handler does, in the rare case.
#include "transports/shm/guarded_copy.h"

#include <ucontext.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <system_error>

namespace tentq {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;

struct Frame {
  sigjmp_buf back;
  std::uintptr_t to;
  std::uintptr_t from;
  std::size_t length;
};

// The copy that this thread is in. Volatile: the handler reads it between any two instructions.
constinit thread_local Frame* volatile current_frame = nullptr;

struct sigaction previous_action;

// Whether `address` lies in [begin, begin + length), widened to the faulting unit of memory: the
// kernel may report the unit instead of the byte.
bool inside(std::uintptr_t address, std::uintptr_t begin, std::size_t length, std::uintptr_t unit) {
  return address >= (begin & ~(unit - 1)) && address <= ((begin + length - 1) | (unit - 1));
}

bool concerns(const Frame& frame, const siginfo_t& info) {
  std::uintptr_t unit = kPageBytes;
  switch (info.si_code) {
    case BUS_ADRERR:
    case BUS_OBJERR: break;
    case BUS_MCEERR_AR: unit = std::uintptr_t{1} << info.si_addr_lsb; break;  // poisoned memory
    default: return false;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  return inside(address, frame.to, frame.length, unit) ||
         inside(address, frame.from, frame.length, unit);
}

void pass_on(int signal, siginfo_t* info, void* machine) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, machine);
    return;
  }
  if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    // A fault cannot be ignored. It happens again when this returns, and then ends the process with
    // the right signal and core; one that another process sent is raised again.
    struct sigaction ends = {};
    ends.sa_handler = SIG_DFL;
    sigaction(signal, &ends, nullptr);
    if (info->si_code <= 0) raise(signal);
    return;
  }
  previous_action.sa_handler(signal);
}

void on_sigbus(int signal, siginfo_t* info, void* machine) {
  Frame* frame = current_frame;
  if (frame != nullptr && concerns(*frame, *info)) {
    current_frame = nullptr;
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(machine)->uc_sigmask, nullptr);
    siglongjmp(frame->back, 1);
  }
  pass_on(signal, info, machine);
}

// Keeps the compiler from moving the copy out of the guarded part; the handler runs on this thread,
// so the processor's own order is not in question.
inline void keep_order_of_this_thread() {
  asm volatile("" : : : "memory");
}

}  // namespace

void install_sigbus_guard() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction guard = {};
    guard.sa_sigaction = on_sigbus;
    guard.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&guard.sa_mask);
    if (sigaction(SIGBUS, &guard, &previous_action) != 0) {
      throw std::system_error(errno, std::generic_category(), "sigaction(SIGBUS)");
    }
  });
}

bool guarded_copy(CopyRoutine routine, std::byte* to, const std::byte* from, std::size_t length) {
  Frame frame;
  frame.to = reinterpret_cast<std::uintptr_t>(to);
  frame.from = reinterpret_cast<std::uintptr_t>(from);
  frame.length = length;
  if (sigsetjmp(frame.back, 0) != 0) {
    order_streamed_stores();
    return false;
  }
  current_frame = &frame;
  keep_order_of_this_thread();
  copy_bytes(routine, to, from, length);
  keep_order_of_this_thread();
  current_frame = nullptr;
  return true;
}

}  // namespace tentq
