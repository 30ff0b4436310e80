// Everything that waits: poll for a while, then sleep on the daemon's futex word in slices, with a
// look at the connection between them. And the fd for those who wait in an event loop.
#include <unistd.h>

#include <algorithm>

#include "client/client_state.h"
#include "client/verdict.h"

namespace tentq::lib {

namespace {

constexpr std::chrono::milliseconds kSlice{100};
// What is announced by no completion: a place in a ring, a verdict, an answer of another thread.
constexpr std::chrono::milliseconds kShortSlice{1};
// One attempt to attach again, in a caller's thread.
constexpr Duration kAttempt = std::chrono::seconds{1};

bool one_core() {
  static const bool one = ::sysconf(_SC_NPROCESSORS_ONLN) == 1;
  return one;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// While it lives, wishes of this class are kept by the daemon until they are served.
class KeepWish {
 public:
  KeepWish() = default;
  KeepWish(const KeepWish&) = delete;
  KeepWish& operator=(const KeepWish&) = delete;
  ~KeepWish() { end(); }
  void hold(const std::shared_ptr<Session>& session, ClassId cls) {
    if (session_ == session) return;
    end();
    if (!session->granted(cls)) return;
    session_ = session;
    cls_ = cls;
    session_->ring(cls_).credit.begin_waiting();
  }

 private:
  void end() {
    if (session_ != nullptr) session_->ring(cls_).credit.end_waiting();
    session_ = nullptr;
  }
  std::shared_ptr<Session> session_;
  ClassId cls_{};
};

}  // namespace

Status ClientState::wait_until(Clock::time_point deadline, Duration slice,
                               const std::function<bool()>& done) {
  if (done()) return {};
  if (!one_core() && options_.spin.count() > 0) {
    const Clock::time_point end = std::min(deadline, Clock::now() + options_.spin);
    do {
      for (int i = 0; i < 16; ++i) {
        if (done()) return {};
        pause_briefly();
      }
    } while (Clock::now() < end);
  }
  for (;;) {
    const std::shared_ptr<Session> session = newest_session();
    const std::uint32_t ticket = session->completions().ticket();
    if (done()) return {};
    if (Status status = usable(); !status.ok()) return status;
    const Duration left = time_left(deadline);
    if (left.count() <= 0) return {Code::timeout, "the time to wait is over; the work goes on"};
    // Without the thread nobody else wakes up to attach again.
    const Duration due = session->lost() && !has_thread() ? until_next_attempt() : slice;
    session->completions().wait(ticket, std::min({left, slice, due}));
    tend(std::min(left, kAttempt));
  }
}

Status ClientState::wait(const BatchState& batch, Duration timeout) {
  if (Status status = usable(); !status.ok()) return status;
  return wait_until(deadline_after(timeout), kSlice, [&] { return batch.done(tables_); });
}

Status ClientState::wait_verdict(const BatchState& batch, Duration timeout) {
  if (Status status = usable(); !status.ok()) return status;
  Status status =
      wait_until(deadline_after(timeout), kShortSlice, [&] { return batch.judged(tables_); });
  if (!status.ok()) return status;
  const std::uint32_t count = batch.owner_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && status.ok(); ++i) {
    status = verdict_of(tables_.view(batch.owners[i]));
  }
  return status;
}

Status ClientState::submit_wait(BatchState& batch, std::span<const Request> requests,
                                const SubmitOptions& options, Duration timeout) {
  const auto cls = static_cast<ClassId>(options.cls);
  const Clock::time_point deadline = deadline_after(timeout);
  KeepWish wish;
  for (;;) {
    if (Status status = usable(); !status.ok()) return status;
    const std::shared_ptr<Session> session = newest_session();
    const std::uint32_t ticket = session->completions().ticket();
    Shortage shortage = Shortage::none;
    Status status = try_submit(batch, requests, options, &shortage);
    if (shortage == Shortage::none) return status;
    const Duration left = time_left(deadline);
    if (left.count() <= 0) return status;
    if (shortage == Shortage::credit) wish.hold(session, session->class_for(cls));
    const Duration slice = shortage == Shortage::credit ? kSlice : kShortSlice;
    session->completions().wait(ticket, std::min(left, slice));
    tend(std::min(left, kAttempt));
  }
}

void ClientState::tend(Duration most) {
  if (has_thread() || !usable().ok()) return;
  const std::shared_ptr<Session> session = newest_session();
  session->channel().pump();
  if (session->lost()) {
    note_lost(*session);
    try_reattach(most);
    return;
  }
  const Guard hold(lock_);
  sweep();
  sweep_notifications();
  publish_backlog();
}

Result<int> ClientState::completion_fd() {
  if (Status status = usable(); !status.ok()) return status;
  if (completion_fd_.open() != 0) {
    return Status(Code::exhausted, "no file descriptor left for the completion fd");
  }
  const std::shared_ptr<Session> session = newest_session();
  if (!session->lost()) completion_fd_.watch(*session, !has_thread());
  // Whatever has happened before is found by the first drive().
  completion_fd_.raise();
  return completion_fd_.get();
}

Status ClientState::drive() {
  if (Status status = usable(); !status.ok()) return status;
  tend(kAttempt);
  purge();
  const std::shared_ptr<Session> session = newest_session();
  completion_fd_.clear(*session);
  if (completion_fd_.in_use() && !session->lost()) {
    // Changes before the ticket are seen by the caller, who looks after this call; changes after it
    // make the fd readable: by the daemon if it was armed in time, else by this thread.
    constexpr int kTries = 3;
    bool armed = false;
    for (int i = 0; i < kTries && !armed; ++i) {
      armed = session->completions().arm_fd(session->completions().ticket());
    }
    if (!armed) completion_fd_.raise();
  }
  if (session->lost() && !has_thread()) completion_fd_.wake_after(until_next_attempt());
  const Guard hold(lock_);
  return attached_ && !session_->lost() ? Status() : detached();
}

}  // namespace tentq::lib
