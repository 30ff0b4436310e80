// Both sides of a handshake. See handshake.h.
#include "daemon/peers/handshake.h"

namespace tentq {
namespace {

HandshakeFault unexpected() {
  return {PeerReason::protocol_error, "the other side sent a message that cannot come then"};
}

// What both sides ask of each other's HELLO.
std::optional<HandshakeFault> fault_between(const PeerHello& own, const PeerHello& peer) {
  if (peer.major != kPeerMajor) {
    return HandshakeFault{PeerReason::incompatible,
                          "protocol version " + std::to_string(peer.major) + " and not " +
                              std::to_string(kPeerMajor) + "; " +
                              std::string(remedy(PeerReason::incompatible))};
  }
  if (peer.host == own.host && peer.epoch_random == own.epoch_random) {
    return HandshakeFault{PeerReason::itself,
                          "the address leads back to the daemon that connects; " +
                              std::string(remedy(PeerReason::itself))};
  }
  if (peer.host == own.host) {
    return HandshakeFault{PeerReason::twin, "both hosts have the id " + host_text(own.host) + "; " +
                                                std::string(remedy(PeerReason::twin))};
  }
  const bool keyed = (own.features & kPeerKeyed) != 0;
  if (keyed != ((peer.features & kPeerKeyed) != 0)) {
    return HandshakeFault{
        PeerReason::auth_mismatch,
        std::string(keyed ? "one side has `peers.auth` none, the other asks for a key; "
                          : "one side asks for a key, the other has `peers.auth` none; ") +
            std::string(remedy(PeerReason::auth_mismatch))};
  }
  return std::nullopt;
}

HandshakeFault wrong_key(const char* who) {
  return {PeerReason::wrong_key,
          std::string(who) + " has another key; " + std::string(remedy(PeerReason::wrong_key))};
}

}  // namespace

PeerHello make_hello(const PeerIdentity& self, const PeerKey& key, const std::string& advertised) {
  PeerHello hello;
  hello.header = {PeerHello::kType, sizeof(PeerHello), 0};
  hello.host = self.host;
  hello.epoch_counter = self.epoch_counter;
  hello.epoch_random = self.epoch_random;
  hello.features = key.empty() ? 0 : kPeerKeyed;
  fill_random(hello.nonce.data(), hello.nonce.size());
  hello.advertised.assign(advertised);
  return hello;
}

std::optional<HandshakeFault> DialerHandshake::received(const PeerMessage& message,
                                                        std::optional<PeerProof>* answer) {
  if (const auto* refused = std::get_if<PeerRefused>(&message)) {
    return HandshakeFault{PeerReason::refused, std::string(refused->text.view())};
  }
  if (const auto* hello = std::get_if<PeerHello>(&message); hello && state_ == State::hello) {
    return take_hello(*hello, answer);
  }
  if (const auto* proof = std::get_if<PeerProof>(&message); proof && state_ == State::proof) {
    if (!same_proof(proof->proof, make_proof(key_, PeerSide::acceptor, own_, peer_))) {
      return wrong_key("the host that was connected to");
    }
    state_ = State::ready;
    return std::nullopt;
  }
  // With a key there is no READY without a proof before.
  if (const auto* ready = std::get_if<PeerReady>(&message); ready && state_ == State::ready) {
    ready_ = *ready;
    state_ = State::done;
    return std::nullopt;
  }
  return unexpected();
}

std::optional<HandshakeFault> DialerHandshake::take_hello(const PeerHello& hello,
                                                          std::optional<PeerProof>* answer) {
  if (const auto fault = fault_between(own_, hello)) return fault;
  if (hello.role != own_.role || hello.link != own_.link || hello.connection != own_.connection) {
    return HandshakeFault{PeerReason::protocol_error, "the answer is to another connection"};
  }
  peer_ = hello;
  if (key_.empty()) {
    state_ = State::ready;
    return std::nullopt;
  }
  PeerProof proof;
  proof.proof = make_proof(key_, PeerSide::dialer, own_, peer_);
  *answer = proof;
  state_ = State::proof;
  return std::nullopt;
}

std::optional<HandshakeFault> AcceptorHandshake::received(const PeerMessage& message,
                                                          std::optional<PeerMessage>* answer) {
  if (const auto* refused = std::get_if<PeerRefused>(&message)) {
    return HandshakeFault{PeerReason::refused, std::string(refused->text.view())};
  }
  if (const auto* hello = std::get_if<PeerHello>(&message); hello && state_ == State::hello) {
    return take_hello(*hello, answer);
  }
  if (const auto* proof = std::get_if<PeerProof>(&message); proof && state_ == State::proof) {
    if (!same_proof(proof->proof, make_proof(key_, PeerSide::dialer, peer_, own_))) {
      return wrong_key("the host that connects");
    }
    PeerProof own;
    own.proof = make_proof(key_, PeerSide::acceptor, peer_, own_);
    *answer = own;
    state_ = State::authenticated;
    return std::nullopt;
  }
  return unexpected();
}

std::optional<HandshakeFault> AcceptorHandshake::take_hello(const PeerHello& hello,
                                                            std::optional<PeerMessage>* answer) {
  peer_ = hello;
  own_.role = hello.role;
  own_.link = hello.link;
  own_.connection = hello.connection;
  *answer = own_;
  if (const auto fault = fault_between(own_, hello)) return fault;
  state_ = key_.empty() ? State::authenticated : State::proof;
  return std::nullopt;
}

}  // namespace tentq
