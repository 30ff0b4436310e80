// See two_hosts.h.
#include "tests/processes/two_hosts.h"

#include <sys/stat.h>

#include <fstream>
#include <regex>
#include <stdexcept>

#include "tests/processes/daemon_fixture.h"

namespace tentq::test {

namespace {

// Where it says that it listens, soon after its start.
std::string address_of(const DaemonProcess& daemon) {
  static const std::regex kLine("other hosts: ([0-9.]+:[0-9]+)");
  std::smatch found;
  std::string log;
  if (!eventually(std::chrono::seconds{20}, [&] {
        log = daemon.log();
        return std::regex_search(log, found, kLine);
      })) {
    throw std::runtime_error("the daemon does not listen:\n" + log);
  }
  return found[1];
}

}  // namespace

std::string TwoHosts::key_file(const std::string& name, char filling) {
  const std::string path = directory_.file(name);
  std::ofstream(path) << std::string(48, filling);
  ::chmod(path.c_str(), 0600);
  return path;
}

void TwoHosts::start(const nlohmann::json& changes) {
  const std::string key = key_file("key", 'k');
  for (std::unique_ptr<DaemonProcess>* host : {&engines_, &stores_}) {
    DaemonOptions options;
    options.config = {{"peers", {{"listen", "127.0.0.1:0"}, {"key_file", key}}}};
    options.config.merge_patch(changes);
    *host = std::make_unique<DaemonProcess>(options);
  }
  engines_address_ = address_of(*engines_);
  stores_address_ = address_of(*stores_);
  // At the next start, too.
  stores_->configure({{"peers", {{"listen", stores_address_}}}});
}

std::string TwoHosts::segment(const std::string& name) const {
  return "tentq://" + stores_address_ + "/" + name;
}

void TwoHosts::TearDown() {
  for (DaemonProcess* host : {engines_.get(), stores_.get()}) {
    if (host == nullptr || host->pid() < 0) continue;
    EXPECT_TRUE(eventually(std::chrono::seconds{20}, [host] {
      return unfinished_work(host->socket()).empty();
    })) << unfinished_work(host->socket());
    EXPECT_EQ(host->stop(), 0) << host->log();
  }
}

}  // namespace tentq::test
