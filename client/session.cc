// Views into the memory of one session. See session.h.
#include "client/session.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "proto/check.h"

namespace tentq::lib {

namespace {

std::uint32_t largest_call_of(const Welcome& welcome) {
  const SessionSizes& sizes = welcome.sizes;
  const std::uint32_t fits =
      std::min({welcome.limits.largest_call, sizes.ring_cells - sizes.ring_reserved, sizes.slots});
  const std::uint64_t allowed = std::min(welcome.limits.owners, welcome.limits.extents);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(fits, allowed));
}

}  // namespace

Session::Session(const Welcome& welcome, shm::MappedSessionMemory memory, SessionFds fds,
                 ControlSink* sink)
    : welcome_(welcome),
      largest_call_(largest_call_of(welcome)),
      memory_(std::move(memory)),
      doorbell_fd_(std::move(fds.doorbell)),
      completion_(std::move(fds.completion)),
      channel_(std::move(fds.socket), sink),
      allocator_(welcome.sizes.slots),
      orphans_(welcome.sizes.slots) {
  ReqHeader* req = memory_.view.req();
  StaHeader* sta = memory_.view.sta();
  doorbell_ = {&req->published.value, &sta->need_wakeup.value, doorbell_fd_.get()};
  completions_ = {&sta->completions.value, &req->waiters.value, &req->completion_fd_armed.value};
  status_ = {memory_.view.slots(), memory_.view.dirty(), welcome.sizes.slots};
  const std::uint32_t share =
      welcome.sizes.arena_bytes / std::max(1u, memory_.view.layout().ring_count());
  std::uint32_t begin = 0;
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    const auto cls = static_cast<ClassId>(c);
    if ((welcome.sizes.class_mask & bit_of(cls)) == 0) continue;
    ClassRing& ring = rings_[c];
    ring.granted = true;
    ring.ring = {memory_.view.ring(cls), welcome.sizes.ring_cells, welcome.sizes.ring_reserved,
                 &req->tails[c].value, &sta->heads[c].value};
    ring.credit = {&req->consumed[c], &sta->granted[c], &req->wanted[c]};
    ring.arena = NotifyArena(begin, share);
    begin += share;
  }
}

ClassId Session::first_class() const {
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    if (rings_[c].granted) return static_cast<ClassId>(c);
  }
  TENTQ_CHECK(false);  // attach() refuses a session without a ring
  return ClassId::standard;
}

DaemonState Session::state() const {
  // Relaxed: a hint; what the daemon refuses it refuses by itself.
  return static_cast<DaemonState>(memory_.view.sta()->state.load(std::memory_order_relaxed));
}

LimitLevel Session::full_level(ClassId cls) const {
  // Relaxed: for a text.
  const std::uint8_t level =
      memory_.view.sta()->full_levels[index_of(cls)].load(std::memory_order_relaxed);
  return level <= static_cast<std::uint8_t>(LimitLevel::session) ? static_cast<LimitLevel>(level)
                                                                 : LimitLevel::none;
}

void Session::wake_sleepers() const {
  // The word itself does not change: sleepers look at the client's session after every wake-up.
  ::syscall(SYS_futex, &memory_.view.sta()->completions.value, FUTEX_WAKE, INT_MAX, nullptr,
            nullptr, 0);
}

shm::Mapping Session::retire() {
  // MAP_FIXED replaces the pages in one step; a reader finds old words or zeros, never a hole. By
  // system call and not by mmap(): like every change of STA it is somebody else's store to what
  // readers load atomically, and no tool should take it for an allocation of this thread.
  void* const zeros = reinterpret_cast<void*>(
      ::syscall(SYS_mmap, memory_.sta.data(), memory_.sta.size(), PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  TENTQ_CHECK(zeros == memory_.sta.data());
  return std::move(memory_.sta);
}

void Session::abandon() {
  channel_.abandon();
  doorbell_fd_.reset();
  completion_.reset();
}

}  // namespace tentq::lib
