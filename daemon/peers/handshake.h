// The first messages of every connection, as states: what has to come next, and what it proves.
// HELLOs both ways; with a key the dialer's PROOF, then the acceptor's; READY. Pure.
#pragma once

#include <optional>
#include <string>

#include "daemon/peers/identity.h"
#include "daemon/peers/peer_message.h"
#include "daemon/peers/proof.h"
#include "daemon/peers/reason.h"

namespace tentq {

// Why a handshake ends without a link.
struct HandshakeFault {
  PeerReason reason{};
  std::string text;
};

// What one side says of itself, with a fresh nonce. `key` may be empty: then nobody proves
// anything.
PeerHello make_hello(const PeerIdentity& self, const PeerKey& key, const std::string& advertised);

class DialerHandshake {
 public:
  // `hello` is sent first, as it is; `key` outlives this.
  DialerHandshake(const PeerKey& key, const PeerHello& hello) : key_(key), own_(hello) {}

  // What came; a fault ends it. *answer is then to be sent, if it is set.
  std::optional<HandshakeFault> received(const PeerMessage& message,
                                         std::optional<PeerProof>* answer);

  bool done() const { return state_ == State::done; }
  const PeerHello& hello() const { return own_; }
  // The acceptor's; proved when done().
  const PeerHello& peer() const { return peer_; }
  const PeerReady& ready() const { return ready_; }

 private:
  enum class State { hello, proof, ready, done };
  std::optional<HandshakeFault> take_hello(const PeerHello& hello,
                                           std::optional<PeerProof>* answer);

  const PeerKey& key_;
  PeerHello own_;
  PeerHello peer_;
  PeerReady ready_;
  State state_ = State::hello;
};

class AcceptorHandshake {
 public:
  // `hello` is repeated with the dialer's link and connection; `key` outlives this.
  AcceptorHandshake(const PeerKey& key, const PeerHello& hello) : key_(key), own_(hello) {}

  // What came; a fault ends it. *answer is then to be sent, if it is set: a HELLO (with a fault,
  // too: the dialer learns whom it reached), or the own PROOF.
  std::optional<HandshakeFault> received(const PeerMessage& message,
                                         std::optional<PeerMessage>* answer);

  // The dialer has the key, or none is asked for: it may be judged, then told READY.
  bool authenticated() const { return state_ == State::authenticated; }
  const PeerHello& peer() const { return peer_; }

 private:
  enum class State { hello, proof, authenticated };
  std::optional<HandshakeFault> take_hello(const PeerHello& hello,
                                           std::optional<PeerMessage>* answer);

  const PeerKey& key_;
  PeerHello own_;
  PeerHello peer_;
  State state_ = State::hello;
};

}  // namespace tentq
