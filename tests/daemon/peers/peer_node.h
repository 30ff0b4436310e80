// A daemon's links in a test: PeerLinks with an owner that keeps what it is told. Several share one
// io_context and one thread; waiting is for a condition, with a limit that only failures reach.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/peers/links.h"
#include "tests/support/certificates.h"

namespace tentq::test {

class Loop {
 public:
  // Runs handlers until it holds; false after 10 s.
  bool until(const std::function<bool()>& holds);
  // What is ready now.
  void drain() {
    while (io.poll_one() > 0) {
    }
  }

  boost::asio::io_context io;

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io.get_executor()};
};

PeerKey key_of(const std::string& text);
inline const std::string kSecret = "0123456789abcdef0123456789abcdef";
HostId host_id(std::uint8_t number);

struct Node final : PeerLinks::Owner {
  struct Options {
    std::uint8_t host = 1;
    std::uint64_t epoch = 1;
    std::string key = kSecret;  // empty: peers.auth is none
    std::string ca_file = {};   // not empty: peers.auth is mtls
    CertificateFiles files = {};
    std::string allowed_names = {};
    std::string listen = "127.0.0.1:0";
    std::string advertise = {};
    std::uint32_t data_connections = 2;
    std::chrono::milliseconds timeout{2000};
    std::chrono::milliseconds connect_timeout{2000};
    std::uint32_t most = 64;
  };
  struct Down {
    LinkKey key;
    PeerLink peer;
    PeerReason reason{};
    std::string text;
  };
  using Connection = std::pair<LinkKey, std::uint64_t>;

  Node(Loop& loop, const Options& options);

  // As the constructor made it, with another epoch: a restart. What the owner held is closed.
  void restart(std::uint64_t epoch);
  void stop();
  void want(const std::string& address);

  std::string address() const { return links->listens_at(); }
  std::vector<LinkKey> up_on(LinkSide side) const;
  bool has_trouble(PeerReason reason) const;
  // One link on each side, all data connections there.
  static bool connected(const Node& dialer, const Node& acceptor);

  void link_up(LinkKey key, const PeerLink& peer) override;
  void link_down(LinkKey key, const PeerLink& peer, PeerReason reason,
                 const std::string& text) override;
  void data_ready(LinkKey key, std::uint64_t connection, shm::Fd socket,
                  std::unique_ptr<ByteStream> stream) override;
  void fence(LinkKey key, std::uint64_t connection, std::function<void()> done) override;
  void received(LinkKey key, const PeerMessage& message) override;
  void no_link(const PeerTrouble& trouble) override;

  Loop& loop;
  Options options;
  std::unique_ptr<PeerLinks> links;
  std::map<LinkKey, PeerLink> up;
  std::vector<Down> downs;
  std::map<Connection, shm::Fd> data;
  std::map<Connection, std::unique_ptr<ByteStream>> streams;  // of those with TLS
  bool hold_fences = false;  // they are kept instead of confirmed at once
  std::vector<std::pair<Connection, std::function<void()>>> fences;
  std::vector<Connection> fenced;  // all that were asked for
  std::vector<std::pair<LinkKey, PeerMessage>> messages;
  std::vector<PeerTrouble> troubles;
  std::vector<std::string> order;  // "up 3", "down 2", "fence 2/1"
};

}  // namespace tentq::test
