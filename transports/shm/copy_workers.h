// The copying threads of the shared-memory transport: they take jobs from one shared queue, spin a
// little when there are none, then sleep on a futex until the conductor or a neighbour wakes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "proto/units.h"
#include "transports/shm/copy_job.h"
#include "transports/shm/job_queues.h"
#include "transports/wakeup_fd.h"

namespace tentq {

struct WorkerOptions {
  std::uint32_t threads = 1;  // at least 1
  std::uint32_t piece_bytes = 128u << 10;
  Duration spin = std::chrono::microseconds{20};
};

class CopyWorkers {
 public:
  // `jobs` and `wakeup` outlive it. Throws std::system_error when a thread cannot be made.
  CopyWorkers(const WorkerOptions& options, JobTable* jobs, WakeupFd* wakeup);
  // Waits for the piece that each thread is in; jobs that nobody has taken are dropped.
  ~CopyWorkers();
  CopyWorkers(const CopyWorkers&) = delete;
  CopyWorkers& operator=(const CopyWorkers&) = delete;

  // Conductor. False: the queue is full, nothing was changed.
  bool submit(JobTicket ticket) { return queue_.push(ticket); }
  // After submitting: makes sure that a thread looks. At most one system call, none while a thread
  // spins; that thread wakes the next one if there is more to do.
  void wake_one();

  // Conductor: a job that ended.
  std::optional<std::uint32_t> take_done();
  // Whether take_done() has something; seq_cst, see WakeupFd.
  bool done_ready() const;

  std::uint32_t threads() const { return static_cast<std::uint32_t>(workers_.size()); }

 private:
  static constexpr std::uint32_t kBusy = 0, kSpinning = 1, kAsleep = 2;
  struct alignas(64) Worker {
    explicit Worker(std::uint32_t jobs) : done(jobs) {}
    DoneRing done;
    // A futex word. Partners: wake_one() (seq_cst loads after the queue's seq_cst store) and
    // sleep() (seq_cst store, then a seq_cst look at the queue). With anything weaker a job could
    // be queued while its only thread goes to sleep. Tested by ShmTransport.IdleWorkersWake.
    std::atomic<std::uint32_t> state{kBusy};
    std::thread thread;
  };

  void run(Worker& self);
  void carry_out(Worker& self, JobTicket ticket);
  bool spin(Worker& self);
  void sleep(Worker& self);
  void wake(Worker& worker);
  void stop();

  WorkerOptions options_;
  JobTable* jobs_;
  WakeupFd* wakeup_;
  JobRing queue_;
  std::atomic<bool> stopping_{false};  // partner: run() and sleep()
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t next_ring_ = 0;  // conductor: rings take turns
};

// min(4, cores − 1), at least 1.
std::uint32_t default_copy_workers(std::uint32_t cores);
// Cores that this process may run on.
std::uint32_t usable_cores();

}  // namespace tentq
