// Where a paced transport has its time from, and what wakes its sleeping conductor at a point in
// time: the host's clock in the daemon, virtual time in tests. Conductor thread only.
#pragma once

#include "proto/units.h"

namespace tentq {

class PaceClock {
 public:
  virtual ~PaceClock() = default;

  virtual Time now() const = 0;
  // fd() becomes readable at `at`, or at once if that is past; replaces an earlier alarm.
  virtual void set_alarm(Time at) = 0;
  // fd() is not readable afterwards.
  virtual void clear_alarm() = 0;
  virtual int fd() const = 0;
};

// CLOCK_MONOTONIC and a timerfd.
class HostPaceClock final : public PaceClock {
 public:
  // Throws std::system_error when no timerfd can be made.
  HostPaceClock();
  ~HostPaceClock() override;
  HostPaceClock(const HostPaceClock&) = delete;
  HostPaceClock& operator=(const HostPaceClock&) = delete;

  Time now() const override;
  void set_alarm(Time at) override;
  void clear_alarm() override;
  int fd() const override { return fd_; }

 private:
  int fd_;
};

}  // namespace tentq
