// A daemon played by hand: a plain socket that says what the test wants, right or wrong.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "daemon/peers/parser.h"
#include "daemon/peers/proof.h"
#include "shm/fd.h"
#include "tests/daemon/peers/peer_node.h"

namespace tentq::test {

class RawPeer {
 public:
  // Connects to a listening node.
  RawPeer(Loop& loop, const std::string& address);
  // Takes a connection of a dialing node at a socket from listen_anywhere().
  RawPeer(Loop& loop, const shm::Fd& listener);

  // A HELLO of host `host` that a node with the tests' key understands.
  static PeerHello hello(std::uint8_t host, std::uint64_t epoch, std::uint64_t link,
                         std::uint64_t connection = 0, bool keyed = true);
  template <class Message>
  bool send(Message message) {
    message.header.type = Message::kType;
    message.header.bytes = sizeof(Message);
    return send_bytes(&message, sizeof(message));
  }
  // False: the socket does not take it all at once, or is closed.
  bool send_bytes(const void* bytes, std::size_t size);
  // The next message; nothing when the connection ends before, or 10 s pass.
  std::optional<PeerMessage> next();
  template <class Message>
  std::optional<Message> next() {
    const auto message = next();
    const auto* wanted = message ? std::get_if<Message>(&*message) : nullptr;
    return wanted != nullptr ? std::optional(*wanted) : std::nullopt;
  }
  // The next message that is not a ping.
  template <class Message>
  std::optional<Message> next_but_pings() {
    auto message = next();
    while (message && std::holds_alternative<PeerPing>(*message)) message = next();
    const auto* wanted = message ? std::get_if<Message>(&*message) : nullptr;
    return wanted != nullptr ? std::optional(*wanted) : std::nullopt;
  }
  // Whether the other side ends it, whatever it sends before.
  bool ended();
  void close() { socket_.reset(); }
  int socket() const { return socket_.get(); }

  // As a dialer: HELLO, PROOF, READY; the acceptor's READY or nothing.
  std::optional<PeerReady> shake_hands(const PeerHello& own, const PeerKey& key);
  // Up to the acceptor's proof.
  bool prove(const PeerHello& own, const PeerKey& key);

 private:
  bool read_some();

  Loop& loop_;
  shm::Fd socket_;
  PeerParser parser_;
  bool end_ = false;
};

// A listening socket on loopback, and where.
shm::Fd listen_anywhere(std::string* address, int backlog = 16);

}  // namespace tentq::test
