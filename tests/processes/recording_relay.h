// A relay between hosts that keeps what goes through it, both ways. A thread of its own.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shm/fd.h"

namespace tentq::test {

class RecordingRelay {
 public:
  // To a port of this host's loopback.
  explicit RecordingRelay(std::uint16_t to);
  ~RecordingRelay();
  RecordingRelay(const RecordingRelay&) = delete;
  RecordingRelay& operator=(const RecordingRelay&) = delete;

  // 127.0.0.1:port.
  const std::string& address() const { return address_; }
  std::size_t recorded_bytes() const;
  bool recorded(std::string_view text) const;

 private:
  struct Way {
    shm::Fd near, far;
  };
  void run();
  void accept_one();
  // False: it has ended.
  bool pass(int from, int to);

  const std::uint16_t to_;
  std::string address_;
  shm::Fd listener_;
  shm::Fd stop_;
  std::vector<Way> ways_;
  mutable std::mutex mutex_;
  std::string record_;
  std::thread thread_;
};

}  // namespace tentq::test
