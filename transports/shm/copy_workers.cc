// See copy_workers.h.
#include "transports/shm/copy_workers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <string>

#include "proto/check.h"
#include "transports/faults_only.h"

namespace tentq {
namespace {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

CopyWorkers::CopyWorkers(const WorkerOptions& options, JobTable* jobs, WakeupFd* wakeup)
    // A canceled job leaves its ticket in the queue until a thread comes to it.
    : options_(options), jobs_(jobs), wakeup_(wakeup), queue_(2 * jobs->entries()) {
  TENTQ_CHECK(options.threads > 0 && options.piece_bytes > 0);
  const FaultsOnly mask;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(jobs->entries()));
  }
  try {
    for (std::uint32_t i = 0; i < options.threads; ++i) {
      workers_[i]->thread = std::thread([this, i] {
        pthread_setname_np(pthread_self(), ("tentq-copy-" + std::to_string(i)).c_str());
        run(*workers_[i]);
      });
    }
  } catch (...) {
    stop();
    throw;
  }
}

CopyWorkers::~CopyWorkers() {
  stop();
}

void CopyWorkers::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  for (std::uint32_t slot = 0; slot < jobs_->entries(); ++slot) (*jobs_)[slot].ask_to_stop();
  for (auto& worker : workers_) wake(*worker);
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void CopyWorkers::wake_one() {
  for (auto& worker : workers_) {
    if (worker->state.load(std::memory_order_seq_cst) == kSpinning) return;
  }
  for (auto& worker : workers_) {
    std::uint32_t asleep = kAsleep;
    if (worker->state.compare_exchange_strong(asleep, kBusy, std::memory_order_seq_cst)) {
      futex_wake(worker->state);
      return;
    }
  }
}

void CopyWorkers::wake(Worker& worker) {
  worker.state.store(kBusy, std::memory_order_seq_cst);
  futex_wake(worker.state);
}

std::optional<std::uint32_t> CopyWorkers::take_done() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::size_t ring = next_ring_;
    next_ring_ = ring + 1 == workers_.size() ? 0 : ring + 1;
    if (auto slot = workers_[ring]->done.take()) return slot;
  }
  return std::nullopt;
}

bool CopyWorkers::done_ready() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->done.ready(); });
}

void CopyWorkers::run(Worker& self) {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (const auto ticket = queue_.take()) {
      if (!queue_.empty()) wake_one();
      carry_out(self, *ticket);
    } else if (!spin(self)) {
      sleep(self);
    }
  }
}

void CopyWorkers::carry_out(Worker& self, JobTicket ticket) {
  CopyJob& job = (*jobs_)[ticket.slot];
  if (!job.take(ticket)) return;
  job.carry_out(options_.piece_bytes);
  self.done.push(ticket.slot);
  wakeup_->ring();
}

// True as soon as there is something to do, false when the time is over.
bool CopyWorkers::spin(Worker& self) {
  if (options_.spin <= Duration::zero()) return false;
  self.state.store(kSpinning, std::memory_order_seq_cst);
  const auto until = std::chrono::steady_clock::now() + options_.spin;
  bool found = false;
  do {
    for (int i = 0; i < 16 && !found; ++i) {
      found = !queue_.empty() || stopping_.load(std::memory_order_relaxed);
      pause_briefly();
    }
  } while (!found && std::chrono::steady_clock::now() < until);
  self.state.store(kBusy, std::memory_order_seq_cst);
  return found;
}

void CopyWorkers::sleep(Worker& self) {
  self.state.store(kAsleep, std::memory_order_seq_cst);
  if (queue_.empty() && !stopping_.load(std::memory_order_seq_cst)) {
    while (self.state.load(std::memory_order_acquire) == kAsleep) futex_wait(self.state, kAsleep);
  } else {
    self.state.store(kBusy, std::memory_order_relaxed);
  }
}

std::uint32_t default_copy_workers(std::uint32_t cores) {
  return std::clamp<std::uint32_t>(cores, 2, 5) - 1;
}

std::uint32_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace tentq
