// What the conductor does with a connection by itself, while little goes and comes: a small chunk
// is sent, a small message is received, and no thread has to wake up for it. Who receives is
// decided under the lock; a large payload, many messages and large chunks in flight are the
// thread's.
#include "transports/tcp/connection.h"

namespace tentq {
namespace {

// To the socket, in a row: some small messages. What is behind more of them is a thread's work.
constexpr int kMostCalls = 12;

}  // namespace

Connection::Offer Connection::offer(TcpChunk* chunk) {
  if (stream_) return Offer::declined;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || coming_.load(std::memory_order_relaxed) != 0) return Offer::declined;
  if (over_ || !out_.idle() || !queue_.empty() || !held_.empty()) {
    return Offer::declined;
  }
  return admit(chunk) ? send_now() : Offer::taken;
}

// What is left, and an error, are the thread's. Nothing else is being sent.
Connection::Offer Connection::send_now() {
  ask_held_reads();
  begin_next();
  if (!out_.idle()) send_some(surroundings_.options->inline_bytes + kMostWaitingHeads);
  const bool nothing_left = out_.idle() && queue_.empty();
  const bool is_to_receive = conductor_receives_ && has_large_chunks();
  return nothing_left && !is_to_receive ? Offer::taken : Offer::rest_waits;
}

IoCommand* Connection::ask_for_flush() {
  return flush_on_its_way_.exchange(true, std::memory_order_acq_rel) ? nullptr : &flush_;
}

void Connection::flush_asked() {
  flush_on_its_way_.store(false, std::memory_order_release);
  flush();
}

IoCommand* Connection::receive_here(std::uint64_t* left) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || over_ || !conductor_receives_) return nullptr;
  large_came_ = false;
  Progress progress = Progress::more;
  for (int calls = 0; progress == Progress::more && !large_came_; ++calls) {
    if (calls == kMostCalls) return leave_to_thread();
    const Received received = receive(surroundings_.options->inline_bytes);
    progress = took(received);
    if (received.bytes > 0) *left -= std::min(*left, static_cast<std::uint64_t>(received.bytes));
  }
  if (progress == Progress::over) return nullptr;
  if (large_came_ || progress == Progress::paused) return leave_to_thread();
  const bool sends = out_.current() != nullptr || !queue_.empty();
  if (!sends && send_now() == Offer::taken) return nullptr;
  return ask_for_flush();
}

IoCommand* Connection::leave_to_thread() {
  surroundings_.sockets->remove(fd_);
  conductor_receives_ = false;
  return &receive_;
}

// Thread, which waits for nothing to come. Decryption is its own.
void Connection::leave_to_conductor() {
  conductor_receives_ =
      !stream_ && surroundings_.sockets != nullptr && surroundings_.sockets->add(fd_, name_.serial);
  if (conductor_receives_) {
    stop_watching();
  } else {
    wait_readable();
  }
}

// Thread: it receives from here on.
void Connection::claim() {
  surroundings_.sockets->remove(fd_);
  conductor_receives_ = false;
  wait_readable();
}

// What made the conductor leave it may be waiting answers.
void Connection::receive_asked() {
  {
    const Lock lock(mutex_);
    flush_locked();
  }
  on_readable();
}

}  // namespace tentq
