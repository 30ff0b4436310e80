// Time that a test moves by hand; its alarm is an eventfd that moving the time rings.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "transports/paced/pace_clock.h"

namespace tentq::test {

class VirtualPaceClock final : public PaceClock {
 public:
  VirtualPaceClock() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::runtime_error("no eventfd");
  }
  ~VirtualPaceClock() override { close(fd_); }
  VirtualPaceClock(const VirtualPaceClock&) = delete;
  VirtualPaceClock& operator=(const VirtualPaceClock&) = delete;

  Time now() const override { return now_; }
  void set_alarm(Time at) override {
    clear_alarm();
    alarm_ = at;
    ring_if_due();
  }
  void clear_alarm() override {
    alarm_ = kNever;
    std::uint64_t count = 0;
    (void)!read(fd_, &count, sizeof count);
  }
  int fd() const override { return fd_; }

  void advance(Duration by) {
    now_ += by;
    ring_if_due();
  }
  Time alarm() const { return alarm_; }  // kNever: none

 private:
  void ring_if_due() {
    const std::uint64_t one = 1;
    if (alarm_ <= now_) (void)!write(fd_, &one, sizeof one);
  }

  int fd_;
  Time now_ = time_from_ns(1'000'000'000);
  Time alarm_ = kNever;
};

}  // namespace tentq::test
