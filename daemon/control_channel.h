// One connection on the client or admin socket: receives packets, queues answers that the other end
// does not take at once, and notices its end. Conductor thread only (Asio handlers).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/messages.h"
#include "daemon/session.h"
#include "shm/packet_socket.h"

namespace tentq {

class ControlChannel : public std::enable_shared_from_this<ControlChannel> {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // `fd` is the packet's first fd, or invalid.
    virtual void received(ControlChannel& channel, ClientMessage message, shm::Fd fd) = 0;
    // The other end closed, died, broke the protocol or took no answers. Comes once.
    virtual void closed(ControlChannel& channel, const char* why) = 0;
    // Notifications may be sent again after a full socket.
    virtual void writable(ControlChannel& channel) = 0;
  };

  ControlChannel(boost::asio::io_context& io, Host& host, shm::Fd socket,
                 shm::PeerCredentials credentials, bool admin);
  ~ControlChannel();

  // Already closed() when the socket cannot be watched.
  void start(std::chrono::nanoseconds handshake_limit);
  // The handshake is over: no time limit any more.
  void established();
  // A second sign of the client's death beside the socket's end.
  void watch_process(shm::Fd pidfd);

  // Answers are queued (at most kMostQueued) when the socket is full; a client that takes none
  // loses its connection. Returns false if it did; Host::closed follows, never from in here.
  template <class Message>
  bool send(const Message& message, std::span<const int> fds = {}) {
    return send_bytes(std::as_bytes(std::span(&message, 1)), fds);
  }
  // Never queued: false when the socket is full (then Host::writable follows) or closed.
  bool try_send(const Notification& message);
  // Closes once what is queued is sent, at most after `limit`. Host::closed follows.
  void close_after_sending(std::chrono::nanoseconds limit);
  // Closes now; Host::closed does not follow.
  void abandon();

  bool admin() const { return admin_; }
  bool closed() const { return closed_; }
  const shm::PeerCredentials& credentials() const { return credentials_; }
  Session* session() const { return session_; }
  void set_session(Session* session) { session_ = session; }
  // HELLO came; a second one is a protocol error.
  bool greeted() const { return greeted_; }
  void set_greeted() { greeted_ = true; }

 private:
  struct Queued {
    std::vector<std::byte> bytes;
    std::vector<shm::Fd> fds;
  };
  static constexpr std::size_t kMostQueued = 64;
  static constexpr int kPacketsPerTurn = 16;

  bool send_bytes(std::span<const std::byte> bytes, std::span<const int> fds);
  void wait_readable();
  void on_readable();
  bool receive_one();
  void wait_writable();
  void on_writable();
  void break_off(const char* why);
  void fail(const char* why);

  Host& host_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor process_;
  boost::asio::steady_timer timer_;
  shm::PeerCredentials credentials_;
  bool admin_;
  bool greeted_ = false;
  bool closed_ = false;
  bool closing_ = false;
  bool broken_ = false;  // nothing can be sent; about to close
  bool waiting_writable_ = false;
  Session* session_ = nullptr;
  std::deque<Queued> queue_;
  std::vector<std::byte> buffer_;
};

}  // namespace tentq
