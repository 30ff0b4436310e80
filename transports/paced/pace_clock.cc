// See pace_clock.h.
#include "transports/paced/pace_clock.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "proto/check.h"

namespace tentq {

HostPaceClock::HostPaceClock() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd");
}

HostPaceClock::~HostPaceClock() {
  close(fd_);
}

Time HostPaceClock::now() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return time_from_ns(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

void HostPaceClock::set_alarm(Time at) {
  // Zero would disarm it.
  const std::int64_t ns = std::max<std::int64_t>(to_ns(at), 1);
  itimerspec alarm{};
  alarm.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
  TENTQ_CHECK(timerfd_settime(fd_, TFD_TIMER_ABSTIME, &alarm, nullptr) == 0);
}

void HostPaceClock::clear_alarm() {
  const itimerspec none{};
  TENTQ_CHECK(timerfd_settime(fd_, 0, &none, nullptr) == 0);
}

}  // namespace tentq
