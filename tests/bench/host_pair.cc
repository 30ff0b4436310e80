// One daemon or two. See host_pair.h.
#include "tests/bench/host_pair.h"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

namespace tentq::bench {

void add_host_choice(CLI::App* command, HostChoice* choice) {
  command->add_option("--transport", choice->transport, "shm: one host; tcp: two hosts")
      ->check(CLI::IsMember({"shm", "tcp"}))
      ->capture_default_str();
  add_namespaces(command, choice);
}

void add_namespaces(CLI::App* command, HostChoice* choice) {
  command->add_flag("--namespaces", choice->namespaces,
                    "With tcp: each host in a network of its own (needs root)");
  add_size(command, "--link-rate", &choice->link_rate,
           "With --namespaces: bytes a second each way; 0: as fast as it goes")
      ->capture_default_str();
}

HostPair::HostPair(const CommonOptions& common, const HostChoice& choice,
                   const nlohmann::json& config) {
  if (choice.namespaces && choice.transport != "tcp") {
    throw std::runtime_error("--namespaces needs --transport tcp");
  }
  if (choice.link_rate != 0 && !choice.namespaces) {
    throw std::runtime_error("--link-rate needs --namespaces");
  }
  if (choice.transport == "shm") {
    clients_ = std::make_unique<Host>(common, config);
    return;
  }
  if (!common.socket.empty()) throw std::runtime_error("--transport tcp needs private daemons");
  if (choice.namespaces) namespaces_ = std::make_unique<test::Namespaces>(2);
  if (choice.link_rate != 0) namespaces_->limit(1, choice.link_rate);
  const std::string key = directory_.file("key");
  std::ofstream(key) << std::string(48, 'k');
  ::chmod(key.c_str(), 0600);
  nlohmann::json linked = config;
  linked.merge_patch({{"peers", {{"key_file", key}}}});
  clients_ = start(common, linked, 0);
  exporters_ = start(common, linked, 1);
  clients_address_ = clients_->status().at("peers");
  address_ = exporters_->status().at("peers");
}

// At the next start it listens where it did at this one.
std::unique_ptr<Host> HostPair::start(const CommonOptions& common, const nlohmann::json& config,
                                      std::uint32_t host) const {
  const HostPlace where = place(host);
  nlohmann::json listening = config;
  listening.merge_patch({{"peers", {{"listen", where.address + ":0"}}}});
  auto started = std::make_unique<Host>(common, listening, where.network);
  started->daemon()->configure({{"peers", {{"listen", started->status().at("peers")}}}});
  return started;
}

HostPlace HostPair::place(std::uint32_t host) const {
  if (!namespaces_) return {};
  return {namespaces_->fd(host), namespaces_->address(host)};
}

std::string HostPair::segment(const std::string& name) const {
  return between_hosts() ? "tentq://" + address_ + "/" + name : name;
}

std::string HostPair::segment_of_clients(const std::string& name) const {
  return "tentq://" + clients_address_ + "/" + name;
}

}  // namespace tentq::bench
