// One listening socket: accepts connections and makes channels of them. Conductor thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "daemon/control_channel.h"
#include "shm/fd.h"

namespace tentq {

class Listener {
 public:
  using Accepted = std::function<void(std::shared_ptr<ControlChannel>)>;
  using Failed = std::function<void(int error)>;

  // `listening` is a non-blocking SOCK_SEQPACKET socket. `accepted` gets every new channel,
  // `failed` the errno when connections cannot be taken (file descriptors used up); they wait
  // meanwhile.
  Listener(boost::asio::io_context& io, shm::Fd listening, bool admin, ControlChannel::Host& host,
           Accepted accepted, Failed failed);
  void start();
  void stop();
  bool admin() const { return admin_; }

 private:
  void on_readable();

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor socket_;
  bool admin_;
  ControlChannel::Host& host_;
  Accepted accepted_;
  Failed failed_;
  boost::asio::steady_timer pause_;
};

}  // namespace tentq
