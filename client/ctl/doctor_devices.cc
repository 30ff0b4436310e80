// The clock and the RDMA devices.
#include <time.h>

#include <algorithm>
#include <filesystem>

#include "client/ctl/doctor.h"

namespace tentq::ctl {
namespace {

Check check_clock(const std::string& clocksource) {
  timespec resolution{};
  if (::clock_getres(CLOCK_MONOTONIC, &resolution) != 0 || resolution.tv_sec != 0 ||
      resolution.tv_nsec > 1'000) {
    return {"clock", Check::Result::warning, "CLOCK_MONOTONIC has no fine resolution",
            "enable high-resolution timers in the kernel (highres=on)"};
  }
  std::string source;
  if (!read_line(clocksource, &source)) {
    return {"clock", Check::Result::note, "the clock source cannot be read", {}};
  }
  if (source == "hpet" || source == "acpi_pm" || source == "jiffies") {
    return {"clock", Check::Result::warning,
            source + ": reading the time takes a system call, which every turn does",
            "boot with clocksource=tsc, if the machine's counter is stable"};
  }
  return {"clock", Check::Result::ok, source, {}};
}

}  // namespace

void check_devices(const HostPaths& paths, std::vector<Check>* checks) {
  checks->push_back(check_clock(paths.clocksource));
  std::vector<std::string> devices;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(paths.infiniband, error)) {
    devices.push_back(entry.path().filename().string());
  }
  std::sort(devices.begin(), devices.end());
  if (devices.empty()) {
    checks->push_back({"RDMA", Check::Result::note, "no devices; shared memory needs none", {}});
  }
  for (const std::string& device : devices) {
    checks->push_back({"RDMA",
                       Check::Result::note,
                       device + " is not used: this build has no RDMA transport",
                       {}});
  }
}

}  // namespace tentq::ctl
