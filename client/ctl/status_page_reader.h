// Reads the status page without any help from the daemon, and trusts nothing in it.
#pragma once

#include <memory>
#include <string>

#include "proto/status_page.h"
#include "proto/units.h"

namespace tentq::ctl {

// A checked picture: counts are within their arrays, texts are terminated.
struct StatusPicture {
  std::unique_ptr<StatusPageBody> body;
  Time heartbeat{};
  std::uint64_t inode = 0;  // another one after a restart of the daemon
};

// Opens, checks and reads the page at `path`. False: *why says what is wrong and what to do.
bool read_status_page(const std::string& path, StatusPicture* picture, std::string* why);

// How the daemon seems to be, from the page alone.
enum class Liveness { alive, silent, ended, other_clock };
// `process_exists`: whether a process with the page's pid is there.
Liveness judge_liveness(const StatusPicture& picture, Time now, bool process_exists);
// The conductor beats at least every 100 ms; silence for longer than this means that it hangs.
inline constexpr Duration kSilentAfter = std::chrono::seconds{2};

// CLOCK_MONOTONIC, which daemon and tools of one host share.
Time monotonic_now();
bool process_exists(std::uint32_t pid);

}  // namespace tentq::ctl
