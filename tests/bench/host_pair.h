// The daemons of a transfer: one of this host, or two that reach each other over TCP, the clients
// at one and the exporters at the other; both on loopback, or each in a network of its own.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/options.h"
#include "tests/bench/pair.h"
#include "tests/namespaces/namespaces.h"
#include "tests/support/temp_directory.h"

namespace tentq::bench {

struct HostChoice {
  std::string transport = "shm";  // or tcp: two hosts
  bool namespaces = false;        // each in its network
  std::uint64_t link_rate = 0;    // bytes a second of the link between them; 0: as fast as it goes
};
// `--namespaces`, `--link-rate`; and `--transport` with them.
void add_namespaces(CLI::App* command, HostChoice* choice);
void add_host_choice(CLI::App* command, HostChoice* choice);

class HostPair {
 public:
  // Two hosts are always private ones. Throws std::runtime_error.
  HostPair(const CommonOptions& common, const HostChoice& choice, const nlohmann::json& config);

  const std::string& client_socket() const { return clients_->socket(); }
  const std::string& exporter_socket() const { return exporters().socket(); }
  // How clients call a segment of the exporters.
  std::string segment(const std::string& name) const;
  // How the exporters' host calls a segment at the clients'; two hosts only.
  std::string segment_of_clients(const std::string& name) const;
  bool between_hosts() const { return exporters_ != nullptr; }
  // Where the two daemons are; for the raw sockets that are measured beside them.
  HostPlace clients_place() const { return place(0); }
  HostPlace exporters_place() const { return place(1); }

  Host& clients() const { return *clients_; }
  Host& exporters() const { return exporters_ ? *exporters_ : *clients_; }
  // Null: there are none.
  const test::Namespaces* namespaces() const { return namespaces_.get(); }

 private:
  HostPlace place(std::uint32_t host) const;
  std::unique_ptr<Host> start(const CommonOptions& common, const nlohmann::json& config,
                              std::uint32_t host) const;

  test::TempDirectory directory_{"tentq-bench-hosts"};
  std::unique_ptr<test::Namespaces> namespaces_;  // before the daemons, which live there
  std::unique_ptr<Host> clients_;
  std::unique_ptr<Host> exporters_;  // null: the same
  std::string clients_address_;
  std::string address_;
};

}  // namespace tentq::bench
