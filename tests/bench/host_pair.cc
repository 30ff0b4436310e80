// One daemon or two. See host_pair.h.
#include "tests/bench/host_pair.h"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

namespace tentq::bench {

HostPair::HostPair(const CommonOptions& common, const std::string& transport,
                   const nlohmann::json& config) {
  if (transport == "shm") {
    clients_ = std::make_unique<Host>(common, config);
    return;
  }
  if (!common.socket.empty()) throw std::runtime_error("--transport tcp needs private daemons");
  const std::string key = directory_.file("key");
  std::ofstream(key) << std::string(48, 'k');
  ::chmod(key.c_str(), 0600);
  nlohmann::json linked = config;
  linked.merge_patch({{"peers", {{"listen", "127.0.0.1:0"}, {"key_file", key}}}});
  clients_ = std::make_unique<Host>(common, linked);
  exporters_ = std::make_unique<Host>(common, linked);
  address_ = exporters_->status().at("peers");
}

std::string HostPair::segment(const std::string& name) const {
  return between_hosts() ? "tentq://" + address_ + "/" + name : name;
}

}  // namespace tentq::bench
