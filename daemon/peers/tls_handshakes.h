// Shakes hands over TLS on a thread of its own: signatures take a millisecond of a processor, and
// whoever reaches the port can ask for them. The conductor hands sockets over and gets them back.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "daemon/peers/tls_stream.h"
#include "proto/units.h"
#include "shm/fd.h"

namespace tentq {

class TlsHandshakes {
 public:
  struct Result {
    shm::Fd socket;                       // closed already with a fault
    std::unique_ptr<TlsStream> stream;    // with a fault: none
    std::optional<HandshakeFault> fault;  // after the other side was told, as far as it listens
  };
  using Done = std::function<void(Result)>;

  // One that runs. Conductor.
  class Handshake;

  // Throws std::system_error when a thread or fd cannot be made.
  explicit TlsHandshakes(boost::asio::io_context& conductor);
  // Nothing is told any more.
  ~TlsHandshakes();
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;

  // Conductor. `socket` is connected and does not block. `done` runs on the conductor, once and not
  // from inside here, unless it is given up; it is destroyed there, too. `dialed`: see TlsStream.
  std::shared_ptr<Handshake> start(shm::Fd socket, std::shared_ptr<const TlsTerms> terms,
                                   const std::string& dialed, Duration limit, Done done);
  // Conductor. Closes the socket soon, and tells nothing.
  void give_up(const std::shared_ptr<Handshake>& handshake);

 private:
  boost::asio::io_context& conductor_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace tentq
