// What each client has in flight on all lanes together, and the most that it may have. A client
// whose next chunk does not fit is held until it does: the leaves hide it meanwhile. Internal work
// does not count. Conductor thread. Bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/core/amounts.h"

namespace tentq::core {

struct ClientFlight {
  std::uint64_t in_flight = 0;
  std::uint64_t most = 0;  // its own cap; 0 = that of all clients
  std::uint64_t need = 0;  // bytes that its next chunk lacked; 0 = it is not held
};

class ClientCaps {
 public:
  explicit ClientCaps(std::uint32_t clients) : clients_(clients) {}

  // For clients without a cap of their own; 0 = none.
  void set_most(std::uint64_t bytes) {
    most_ = bytes;
    any_ = any_ || bytes != 0;
  }
  void set_most(std::uint32_t client, std::uint64_t bytes) {
    clients_[client].most = bytes;
    any_ = any_ || bytes != 0;
  }
  // `fifo` and `direct` know no clients, so none of them is at its cap.
  void set_in_force(bool in_force) { in_force_ = in_force; }

  const ClientFlight& operator[](std::uint32_t client) const { return clients_[client]; }
  std::uint64_t most(std::uint32_t client) const {
    if (!any_) return kMost;
    const std::uint64_t own = clients_[client].most != 0 ? clients_[client].most : most_;
    return own == 0 || !in_force_ ? kMost : own;
  }
  std::uint64_t room(std::uint32_t client) const {
    if (!any_) return kMost;
    return minus_saturating(most(client), clients_[client].in_flight);
  }
  void charge(std::uint32_t client, std::uint64_t bytes) { clients_[client].in_flight += bytes; }
  void release(std::uint32_t client, std::uint64_t bytes) {
    TENTQ_CHECK(clients_[client].in_flight >= bytes);
    clients_[client].in_flight -= bytes;
  }
  void hold_for(std::uint32_t client, std::uint64_t bytes) { clients_[client].need = bytes; }
  bool is_held(std::uint32_t client) const { return clients_[client].need != 0; }
  // Whether what it is held for fits now.
  bool may_go(std::uint32_t client) const { return clients_[client].need <= room(client); }
  void let_go(std::uint32_t client) { clients_[client].need = 0; }

 private:
  std::vector<ClientFlight> clients_;
  std::uint64_t most_ = 0;
  bool in_force_ = true;
  bool any_ = false;  // somebody has, or had, a cap: most hosts never do
};

}  // namespace tentq::core
