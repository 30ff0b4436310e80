// Proofs with OpenSSL. See proof.h.
#include "daemon/peers/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "proto/check.h"

namespace tentq {

PeerKey& PeerKey::operator=(PeerKey&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::move(other.bytes_);
  }
  return *this;
}

void PeerKey::wipe() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
  bytes_.clear();
}

Proof make_proof(const PeerKey& key, PeerSide side, const PeerHello& dialer,
                 const PeerHello& acceptor) {
  // Neither label is the beginning of the other, so no two texts are the same.
  const std::string_view label = side == PeerSide::dialer ? "tentq dialer" : "tentq acceptor";
  std::vector<std::uint8_t> text(label.size() + 2 * sizeof(PeerHello));
  std::memcpy(text.data(), label.data(), label.size());
  std::memcpy(text.data() + label.size(), &dialer, sizeof(dialer));
  std::memcpy(text.data() + label.size() + sizeof(dialer), &acceptor, sizeof(acceptor));
  Proof proof{};
  std::size_t length = 0;
  const auto* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.bytes().data(), key.bytes().size(),
                text.data(), text.size(), proof.data(), proof.size(), &length);
  TENTQ_CHECK(made != nullptr && length == proof.size());
  return proof;
}

bool same_proof(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void fill_random(std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::getrandom(bytes, size, 0);
    TENTQ_CHECK(got > 0 || errno == EINTR);
    if (got <= 0) continue;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace tentq
