// A test with the daemons of two hosts, both on this machine's loopback: engines attach to one,
// Stores to the other. At the end both must be idle and stop with exit code 0.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/daemon_process.h"
#include "tests/support/temp_directory.h"

namespace tentq::test {

class TwoHosts : public ::testing::Test {
 protected:
  // With these settings over the defaults; both have the same key.
  void start(const nlohmann::json& changes = nlohmann::json::object());
  DaemonProcess& engines() { return *engines_; }
  DaemonProcess& stores() { return *stores_; }
  const std::string& engines_address() const { return engines_address_; }
  // The Stores' host, host:port.
  const std::string& stores_address() const { return stores_address_; }
  // Address of a segment there.
  std::string segment(const std::string& name) const;
  // A file with a key of that letter.
  std::string key_file(const std::string& name, char filling);

  void TearDown() override;

 private:
  TempDirectory directory_{"tentq-hosts"};
  std::unique_ptr<DaemonProcess> engines_;
  std::unique_ptr<DaemonProcess> stores_;
  std::string engines_address_;
  std::string stores_address_;
};

}  // namespace tentq::test
