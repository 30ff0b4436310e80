// The library's parked thread, and what it does for a client. See library_thread.h.
#include "client/library_thread.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "client/client_state.h"

namespace tentq::lib {

LibraryThread::~LibraryThread() {
  join();
}

int LibraryThread::start(std::function<void()> body) {
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return errno;
  body_ = std::move(body);
  running_.store(true, std::memory_order_release);
  // The thread inherits the mask: no signal of the program is ever delivered to it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) running_.store(false, std::memory_order_release);
  return error;
}

void* LibraryThread::run(void* self) {
  pthread_setname_np(pthread_self(), "tentq-lib");
  static_cast<LibraryThread*>(self)->body_();
  return nullptr;
}

void LibraryThread::wake() {
  const std::uint64_t one = 1;
  while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void LibraryThread::clear_wake() {
  std::uint64_t count = 0;
  while (::read(wake_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void LibraryThread::pause(std::chrono::nanoseconds most) {
  pollfd wanted{wake_.get(), POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  ::poll(&wanted, 1, static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)));
}

void LibraryThread::join() {
  if (!running()) return;
  wake();
  pthread_join(thread_, nullptr);
  running_.store(false, std::memory_order_release);
}

void LibraryThread::abandon() {
  running_.store(false, std::memory_order_relaxed);
  wake_.reset();
}

void ClientState::thread_main() {
  // While something waits to be repeated, the room for it is announced by the futex word; the
  // socket is then looked at between these slices.
  constexpr std::chrono::milliseconds kBacklogSlice{10};
  constexpr std::chrono::milliseconds kIdle{60'000};
  constexpr std::chrono::seconds kAttempt{5};
  while (!stopping_.load(std::memory_order_acquire)) {
    thread_.clear_wake();
    const std::shared_ptr<Session> session = newest_session();
    if (session->channel().lost()) {
      note_lost(*session);
      if (!try_reattach(kAttempt)) thread_.pause(until_next_attempt());
      continue;
    }
    const std::uint32_t ticket = session->completions().ticket();
    bool waiting = false;
    purge();
    {
      const Guard hold(lock_);
      sweep();
      sweep_notifications();
      publish_backlog();
      waiting = backlogged();
    }
    if (waiting) {
      session->completions().wait(ticket, kBacklogSlice);
      session->channel().pump();
    } else if (!stopping_.load(std::memory_order_acquire)) {
      session->channel().serve(thread_.wake_fd(), kIdle);
    }
  }
}

}  // namespace tentq::lib
