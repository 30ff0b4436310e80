// A test with a private daemon. At its end the daemon must be idle: nothing queued, no wake-up
// missed, and it stops with exit code 0. Clients and roles are the test's own and end before.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/daemon_process.h"
#include "tests/support/query.h"

namespace tentq::test {

// Asks again and again, a millisecond apart, until it is true; false when it never was.
bool eventually(std::chrono::milliseconds most, const std::function<bool()>& condition);

// Settings with which one small chunk at a time is in flight.
nlohmann::json narrow_lanes();

// Empty when the daemon has nothing queued, in flight or outstanding; else what it has.
std::string unfinished_work(const std::string& socket);

class DaemonFixture : public ::testing::Test {
 protected:
  // Starts the daemon with these settings over the defaults and the private paths.
  DaemonProcess& start(const nlohmann::json& config = nlohmann::json::object());
  DaemonProcess& daemon() { return *daemon_; }
  std::string socket() const { return daemon_->socket(); }
  // As an administrator.
  nlohmann::json ask(QueryKind kind, const std::string& argument = "") const {
    return query(daemon_->admin_socket(), kind, argument);
  }
  nlohmann::json counters() const { return ask(QueryKind::status).at("counters"); }
  // The row of an attached client, or null.
  nlohmann::json client_row(const std::string& name) const;
  // The test itself ended the daemon and has looked at how it ended.
  void daemon_has_ended() { ended_ = true; }
  // Waits until nothing is queued and checks that no wake-up was missed.
  void expect_idle(std::chrono::milliseconds most = std::chrono::seconds{30}) const;

  void TearDown() override;

 private:
  std::unique_ptr<DaemonProcess> daemon_;
  bool ended_ = false;
};

}  // namespace tentq::test
