// etcd over HTTP, on a thread of its own: connections, JSON and time limits of calls. After a
// failure the next call of that line goes to the next endpoint.
#pragma once

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/config/peer_address.h"
#include "daemon/directory/gateway.h"
#include "daemon/directory/http_connection.h"
#include "proto/units.h"

namespace tentq::directory {

class EtcdGateway final : public Gateway {
 public:
  // `first`: which endpoint is used first, so that hosts spread over them.
  EtcdGateway(boost::asio::io_context& conductor, std::vector<PeerAddress> endpoints,
              std::string prefix, Duration limit, std::size_t first);
  ~EtcdGateway() override;

  void ask(Line line, const Call& call, Answered answered) override;
  void watch(std::int64_t revision, Told told) override;
  void stop_watch() override;
  void dispose(KnownNames::Table table) override;

 private:
  // Of the gateway's thread.
  struct Channel {
    std::shared_ptr<HttpConnection> connection;
    std::size_t endpoint = 0;
  };
  // Told is called while this is the watch.
  struct Watch {
    Told told;
    bool stopped = false;  // of the conductor
  };

  std::shared_ptr<HttpConnection> connection_of(Channel& channel);
  void carry_out(Line line, const Call& call, const Answered& answered);
  void begin_watch(std::int64_t revision, const std::shared_ptr<Watch>& watch);
  void next_endpoint(Channel& channel) {
    channel.endpoint = (channel.endpoint + 1) % endpoints_.size();
  }
  void tell(const std::shared_ptr<Watch>& watch, std::vector<WatchNews> news);

  boost::asio::io_context& conductor_;
  const std::vector<PeerAddress> endpoints_;
  const std::string prefix_;
  const Duration limit_;
  std::shared_ptr<Watch> watch_;  // of the conductor
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::array<Channel, kLineCount> channels_;
  Channel watching_;
  std::thread thread_;
};

}  // namespace tentq::directory
