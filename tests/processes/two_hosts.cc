// See two_hosts.h.
#include "tests/processes/two_hosts.h"

#include <sys/stat.h>

#include <fstream>

#include "tests/processes/daemon_fixture.h"
#include "tests/support/query.h"

namespace tentq::test {

namespace {

std::string address_of(const DaemonProcess& daemon) {
  return query(daemon.socket(), QueryKind::status).at("peers");
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
