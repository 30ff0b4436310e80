// One thread of the TCP transport: an Asio loop over its connections and its mailbox.
// Conductor: add, tell, call, reports; the rest is the thread's.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "transports/tcp/connection.h"
#include "transports/tcp/mailbox.h"
#include "transports/tcp/reports.h"
#include "transports/wakeup_fd.h"

namespace tentq {

class IoThread {
 public:
  // All outlive it. Throws std::system_error when a thread or fd cannot be made.
  // `sockets`: of connections that the conductor may receive from; null: of none.
  IoThread(const TcpOptions* options, PeerMemory* memory, WakeupFd* conductor,
           ConductorSockets* sockets);
  // Its connections are closed; nothing is touched afterwards.
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Takes the socket over. The connection stays until it is let go.
  std::shared_ptr<Connection> add(const ConnectionName& name, int fd,
                                  std::unique_ptr<ByteStream> stream);
  // No command names the connection any more.
  void let_go(const std::shared_ptr<Connection>& connection);

  // Queues a command; wake() follows. Commands are carried out in their order.
  void tell(IoCommand* command) { mail_.push(command); }
  void wake() { bell_.ring(); }
  // Queues a call and wakes. For what is rare: it allocates.
  void call(std::function<void()> work);

  Reports& reports() { return reports_; }

 private:
  void run();
  void carry_out_mail();
  void flush_changed();
  void wait_for_bell();
  void wait_for_tick();

  const TcpOptions* options_;
  PeerMemory* memory_;
  ConductorSockets* sockets_;
  Reports reports_;
  std::vector<std::byte> waste_;
  WakeupFd bell_;
  Mailbox<IoCommand> mail_;
  bool stopping_ = false;
  boost::asio::io_context io_{1};
  // Behind the loop: a descriptor does not outlive it.
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<Connection*> changed_;  // were given chunks and not flushed yet
  boost::asio::posix::stream_descriptor bell_descriptor_;
  boost::asio::steady_timer timer_;
  bool ticks_ = false;
  std::thread thread_;
};

}  // namespace tentq
