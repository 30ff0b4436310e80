// The control socket of one session: requests and their answers, and what the daemon says unasked.
// Any thread may ask; at every moment at most one thread reads the socket (the leader), and hands
// the others their answers. Reading never happens under the client's lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/clock.h"
#include "proto/control.h"
#include "shm/fd.h"
#include "shm/packet_socket.h"
#include "tentq/types.hpp"

namespace tentq::lib {

// What the daemon sends unasked. Called by the reading thread, with no lock held.
class ControlSink {
 public:
  virtual ~ControlSink() = default;
  virtual void on_notification(const Notification& message) = 0;
  virtual void on_notice(const DaemonNotice& notice) = 0;
};

class ControlChannel {
 public:
  struct Answer {
    std::vector<std::byte> bytes;
    shm::Fd fd;
    // The message, if it is one of this type; else null.
    template <class Message>
    const Message* as() const {
      if (bytes.size() != sizeof(Message)) return nullptr;
      const auto* message = reinterpret_cast<const Message*>(bytes.data());
      return message->header.type == Message::kType ? message : nullptr;
    }
  };
  // Called once with the answer, by whichever thread reads it; never if the connection ends before.
  using OnAnswer = std::function<void(const Answer&)>;

  ControlChannel(shm::Fd socket, ControlSink* sink) : socket_(std::move(socket)), sink_(sink) {}

  // Sends the message (its header.request is filled in) and waits for the answer.
  // Errors: daemon_gone; timeout at `until` (then `on_answer`, if any, still comes later).
  template <class Message>
  Status ask(Message message, std::span<const int> fds, Answer* answer,
             Clock::time_point until = Clock::time_point::max(), const Progress& progress = {},
             OnAnswer on_answer = {}) {
    const std::shared_ptr<Pending> pending = open(&message.header, std::move(on_answer));
    if (!send(std::as_bytes(std::span(&message, 1)), fds)) return gone();
    return await(message.header.request, *pending, until, progress, answer);
  }
  // Sends without waiting for the answer.
  template <class Message>
  void post(Message message, OnAnswer on_answer = {}) {
    open(&message.header, std::move(on_answer));
    send(std::as_bytes(std::span(&message, 1)), {});
  }
  // Sends a message that has no answer; false when the connection is lost.
  template <class Message>
  bool tell(const Message& message) {
    return send(std::as_bytes(std::span(&message, 1)), {});
  }

  // Reads what is there, unless another thread is reading.
  void pump();
  // The library's thread: reads until `wake_fd` is readable or `most` has passed.
  void serve(int wake_fd, std::chrono::milliseconds most);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // Ends the connection from this side; everybody who waits gets daemon_gone.
  void shut();
  int socket() const { return socket_.get(); }
  // In a forked child: closes its copy of the socket, touching no lock.
  void abandon() { socket_.reset(); }

 private:
  struct Pending {
    bool answered = false;
    bool progressed = false;
    std::uint64_t done_bytes = 0, total_bytes = 0;
    Answer answer;
    OnAnswer on_answer;
  };

  static Status gone();
  std::shared_ptr<Pending> open(ControlHeader* header, OnAnswer on_answer);
  bool send(std::span<const std::byte> bytes, std::span<const int> fds);
  Status await(std::uint64_t request, Pending& pending, Clock::time_point until,
               const Progress& progress, Answer* answer);
  // By the leader, without the mutex.
  void receive_all();
  void dispatch(std::span<const std::byte> bytes, shm::ReceivedPacket& packet);
  void answered(std::uint64_t request, std::span<const std::byte> bytes,
                shm::ReceivedPacket& packet);
  void lose();

  shm::Fd socket_;
  ControlSink* sink_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::condition_variable changed_;  // an answer, progress, no leader, or lost
  bool led_ = false;                 // a thread reads
  std::uint64_t next_request_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Pending>> pending_;
};

}  // namespace tentq::lib
