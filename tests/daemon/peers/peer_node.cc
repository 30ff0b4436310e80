// See peer_node.h.
#include "tests/daemon/peers/peer_node.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tentq::test {

bool Loop::until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    io.run_one_for(std::chrono::milliseconds{2});
  }
  return true;
}

PeerKey key_of(const std::string& text) {
  return PeerKey(std::vector<std::uint8_t>(text.begin(), text.end()));
}

HostId host_id(std::uint8_t number) {
  HostId host{};
  host.front() = number;
  host.back() = 0xaa;
  return host;
}

Node::Node(Loop& of, const Options& how) : loop(of), options(how) {
  restart(options.epoch);
}

void Node::stop() {
  links.reset();
  up.clear();
  streams.clear();
  data.clear();
  fences.clear();
}

void Node::restart(std::uint64_t epoch) {
  const std::string address = links ? links->listens_at() : options.listen;
  stop();
  PeerTerms terms;
  terms.settings.listen = address;
  terms.settings.advertise = options.advertise;
  terms.settings.auth = options.key.empty() ? PeerAuth::none : PeerAuth::psk;
  if (!options.ca_file.empty()) terms.settings.auth = PeerAuth::mtls;
  terms.settings.tls_ca_file = options.ca_file;
  terms.settings.tls_certificate_file = options.files.certificate;
  terms.settings.tls_key_file = options.files.key;
  terms.settings.allowed_names = options.allowed_names;
  terms.settings.data_connections = options.data_connections;
  terms.settings.timeout = options.timeout;
  terms.settings.connect_timeout = options.connect_timeout;
  terms.settings.most = options.most;
  terms.self = {host_id(options.host), epoch, 1000 * epoch + options.host};
  std::string why;
  if (options.ca_file.empty()) {
    terms.key = key_of(options.key);
  } else {
    terms.tls = TlsTerms::load(terms.settings, &why);
    EXPECT_TRUE(terms.tls) << why;
  }
  links = std::make_unique<PeerLinks>(loop.io, std::move(terms), *this);
  EXPECT_TRUE(links->listen(&why)) << why;
}

void Node::want(const std::string& address) {
  std::string why;
  EXPECT_TRUE(links->want(address, &why)) << why;
}

std::vector<LinkKey> Node::up_on(LinkSide side) const {
  std::vector<LinkKey> keys;
  for (const auto& [key, peer] : up) {
    if (peer.side == side) keys.push_back(key);
  }
  return keys;
}

bool Node::has_trouble(PeerReason reason) const {
  return std::any_of(troubles.begin(), troubles.end(),
                     [&](const PeerTrouble& trouble) { return trouble.reason == reason; });
}

bool Node::connected(const Node& dialer, const Node& acceptor) {
  const std::size_t wanted =
      std::min(dialer.options.data_connections, acceptor.options.data_connections);
  return dialer.up_on(LinkSide::dialed).size() == 1 &&
         acceptor.up_on(LinkSide::accepted).size() == 1 && dialer.data.size() == wanted &&
         acceptor.data.size() == wanted;
}

void Node::link_up(LinkKey key, const PeerLink& peer) {
  EXPECT_TRUE(up.emplace(key, peer).second);
  order.push_back("up " + std::to_string(key.value()));
}

void Node::link_down(LinkKey key, const PeerLink& peer, PeerReason reason,
                     const std::string& text) {
  EXPECT_EQ(up.erase(key), 1u);
  for (const auto& [connection, socket] : data) EXPECT_NE(connection.first, key);
  downs.push_back({key, peer, reason, text});
  order.push_back("down " + std::to_string(key.value()));
}

void Node::data_ready(LinkKey key, std::uint64_t connection, shm::Fd socket,
                      std::unique_ptr<ByteStream> stream) {
  EXPECT_EQ(up.count(key), 1u);
  EXPECT_TRUE(data.emplace(Connection{key, connection}, std::move(socket)).second);
  EXPECT_EQ(stream != nullptr, !options.ca_file.empty());
  if (stream) streams[{key, connection}] = std::move(stream);
}

void Node::fence(LinkKey key, std::uint64_t connection, std::function<void()> done) {
  streams.erase({key, connection});
  EXPECT_EQ(data.erase({key, connection}), 1u);
  fenced.emplace_back(key, connection);
  order.push_back("fence " + std::to_string(key.value()) + '/' + std::to_string(connection));
  if (!hold_fences) return done();
  fences.emplace_back(Connection{key, connection}, std::move(done));
}

void Node::received(LinkKey key, const PeerMessage& message) {
  EXPECT_EQ(up.count(key), 1u);
  messages.emplace_back(key, message);
}

void Node::no_link(const PeerTrouble& trouble) {
  EXPECT_FALSE(trouble.text.empty());
  troubles.push_back(trouble);
}

}  // namespace tentq::test
