// The daemons of a transfer: one of this host, or two that reach each other over TCP, the clients
// at one and the exporters at the other.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/options.h"
#include "tests/support/temp_directory.h"

namespace tentq::bench {

class HostPair {
 public:
  // `transport` is shm or tcp; two hosts are always private ones.
  HostPair(const CommonOptions& common, const std::string& transport, const nlohmann::json& config);

  const std::string& client_socket() const { return clients_->socket(); }
  const std::string& exporter_socket() const { return exporters().socket(); }
  // How clients call a segment of the exporters.
  std::string segment(const std::string& name) const;
  bool between_hosts() const { return exporters_ != nullptr; }

 private:
  const Host& exporters() const { return exporters_ ? *exporters_ : *clients_; }

  test::TempDirectory directory_{"tentq-bench-hosts"};
  std::unique_ptr<Host> clients_;
  std::unique_ptr<Host> exporters_;  // null: the same
  std::string address_;
};

}  // namespace tentq::bench
