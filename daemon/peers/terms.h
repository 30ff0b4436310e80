// What a daemon's links have in common: its identity, its key and its settings. Fixed at start,
// but for the port, and for certificates that are read again.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "daemon/config/peer_address.h"
#include "daemon/peers/identity.h"
#include "daemon/peers/proof.h"
#include "daemon/peers/sockets.h"
#include "daemon/peers/tls_terms.h"
#include "daemon/settings.h"

namespace tentq {

class TlsHandshakes;

struct PeerTerms {
  PeerSettings settings;
  PeerIdentity self;
  PeerKey key;                             // of PeerAuth::psk; else empty
  std::shared_ptr<const TlsTerms> tls;     // of PeerAuth::mtls; else null
  std::uint64_t most_length = 16u << 20;   // bytes of one WRITE or READ that others may send
  boost::asio::ip::tcp::endpoint listens;  // port 0: it does not
  TlsHandshakes* handshakes = nullptr;     // of the links, with tls

  // Where another host can connect, for a connection that ends at `local` here: what is
  // configured, else where it listens, else the address at which the other host is talked to.
  std::string advertised(const boost::asio::ip::tcp::endpoint& local) const {
    if (listens.port() == 0) return {};
    if (const auto named = parse_peer_address(settings.advertise, listens.port())) {
      return named->text();
    }
    const auto& from = listens.address().is_unspecified() ? local : listens;
    return PeerAddress{host_of(from), listens.port()}.text();
  }
};

// What the settings, the state directory and the key file say. False with what is wrong and what to
// do in *why. At start only: it reads files.
bool load_terms(const PeerSettings& settings, const std::string& state_directory,
                std::uint64_t epoch_counter, std::uint64_t epoch_random, PeerTerms* terms,
                std::string* why);

std::string_view to_string(PeerAuth auth);

// What to tell the operator once, at start; empty: nothing.
std::string warning_of(const PeerSettings& settings);

}  // namespace tentq
