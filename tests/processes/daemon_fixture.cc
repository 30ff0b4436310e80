// Start, questions and the checks at the end.
#include "tests/processes/daemon_fixture.h"

#include <poll.h>

namespace tentq::test {

bool eventually(std::chrono::milliseconds most, const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return condition();
    ::poll(nullptr, 0, 1);
  }
  return true;
}

nlohmann::json narrow_lanes() {
  return {{"shm", {{"window_bytes", "64KiB"}, {"window_chunks", 1}, {"chunk_bytes", "64KiB"}}}};
}

std::string unfinished_work(const std::string& socket) {
  const nlohmann::json queue = query(socket, QueryKind::queue).at("total");
  const nlohmann::json status = query(socket, QueryKind::status);
  for (const char* key :
       {"depth", "bytes", "in_flight", "in_flight_bytes", "route_pending", "draining"}) {
    if (queue.at(key) != 0) return "queue: " + queue.dump();
  }
  const nlohmann::json& outstanding = status.at("outstanding");
  for (const char* key : {"owners", "bytes", "extents"}) {
    if (outstanding.at(key) != 0) return "outstanding: " + outstanding.dump();
  }
  return {};
}

DaemonProcess& DaemonFixture::start(const nlohmann::json& config) {
  DaemonOptions options;
  options.config = config;
  daemon_ = std::make_unique<DaemonProcess>(std::move(options));
  return *daemon_;
}

nlohmann::json DaemonFixture::client_row(const std::string& name) const {
  const nlohmann::json rows = ask(QueryKind::clients).at("clients");
  for (const nlohmann::json& row : rows) {
    if (row.at("name") == name) return row;
  }
  return nullptr;
}

void DaemonFixture::expect_idle(std::chrono::milliseconds most) const {
  std::string left;
  const bool idle = eventually(most, [&] {
    left = unfinished_work(daemon_->admin_socket());
    return left.empty();
  });
  EXPECT_TRUE(idle) << "the daemon is not idle: " << left;
  EXPECT_EQ(ask(QueryKind::status).at("missed_wakeups"), 0);
}

void DaemonFixture::TearDown() {
  if (!daemon_) return;
  if (ended_) {
    daemon_.reset();
    return;
  }
  ASSERT_TRUE(daemon_->running()) << "the daemon ended by itself; its log:\n" << daemon_->log();
  expect_idle();
  EXPECT_EQ(daemon_->stop(), 0) << daemon_->log();
  if (HasFailure()) std::fprintf(stderr, "log of the daemon:\n%s\n", daemon_->log().c_str());
  daemon_.reset();
}

}  // namespace tentq::test
