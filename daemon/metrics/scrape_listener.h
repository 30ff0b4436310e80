// Serves the metrics over HTTP: GET /metrics. Bounded, because it runs between turns of the
// conductor: few connections at once, each with a time limit, and not many a second; who comes
// beyond that waits in the socket's queue. Conductor thread (Asio callbacks).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/endpoint.h"
#include "daemon/metrics/scrape_connection.h"
#include "shm/fd.h"

namespace tentq {

class ScrapeListener {
 public:
  static constexpr std::size_t kMostConnections = 4;

  // A socket that listens; invalid with the errno in *error.
  static shm::Fd open(const Endpoint& at, int* error);

  // `listening` is from open(). `page` makes the metrics' text, `failed` gets the errno when
  // connections cannot be taken (file descriptors used up).
  ScrapeListener(boost::asio::io_context& io, shm::Fd listening, std::function<std::string()> page,
                 std::function<void(int error)> failed);
  ~ScrapeListener();
  ScrapeListener(const ScrapeListener&) = delete;
  ScrapeListener& operator=(const ScrapeListener&) = delete;

  void start();

 private:
  void wait();
  void accept_one();
  void pause(std::chrono::milliseconds length);
  void closed(std::size_t place);

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::ip::tcp protocol_;
  boost::asio::steady_timer pause_;
  std::function<std::string()> page_;
  std::function<void(int error)> failed_;
  std::array<std::shared_ptr<ScrapeConnection>, kMostConnections> connections_;
  bool waits_for_place_ = false;
};

}  // namespace tentq
