// How a daemon proves that it has the key: HMAC-SHA-256 over its role and both HELLOs. Every byte
// of the HELLOs is covered, so nothing of them can be changed; both nonces are in them, so nothing
// can be replayed; the role is in front, so nothing can be reflected. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/peer.h"

namespace tentq {

// Wiped when it goes; empty when links need none.
class PeerKey {
 public:
  PeerKey() = default;
  explicit PeerKey(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  PeerKey(PeerKey&& other) noexcept : bytes_(std::move(other.bytes_)) {}
  PeerKey& operator=(PeerKey&& other) noexcept;
  PeerKey(const PeerKey&) = delete;
  PeerKey& operator=(const PeerKey&) = delete;
  ~PeerKey() { wipe(); }

  bool empty() const { return bytes_.empty(); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  void wipe();

  std::vector<std::uint8_t> bytes_;
};

enum class PeerSide : std::uint8_t { dialer, acceptor };

// What `side` sends in its PROOF. The HELLOs are as they were sent.
Proof make_proof(const PeerKey& key, PeerSide side, const PeerHello& dialer,
                 const PeerHello& acceptor);
// In a time that does not tell where they differ.
bool same_proof(const Proof& a, const Proof& b);

// Random bytes of the kernel's generator.
void fill_random(std::uint8_t* bytes, std::size_t size);

}  // namespace tentq
