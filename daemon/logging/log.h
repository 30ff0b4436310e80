// The daemon's log: one line per event that an operator needs, to standard error (the journal) or
// a file. Writing never blocks on a full pipe and never fails the caller: lost lines are counted.
// Thread-safe. One log per process.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/settings.h"

namespace tentq {

// Opens the log. An empty file means standard error; there, lines get syslog priorities ("<6>") if
// it is a socket, as under systemd, and times otherwise. Ignores SIGPIPE for the whole process.
// False: the file cannot be opened; *why says so and standard error is used.
bool open_log(const LogSettings& settings, std::string* why);
// Opens the file anew (log rotation); nothing to do on standard error.
void reopen_log();
void set_log_level(LogLevel level);
bool is_logged(LogLevel level);
// Lines that could not be written since the start.
std::uint64_t lost_log_lines();

// Writes one line. Text that came from a client must have gone through escaped().
void log_text(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(level)) log_text(level, fmt::format(format, std::forward<Args>(args)...));
}

// For text from outside: everything but printable ASCII becomes \n, \t, \\ or \xNN, so that it can
// neither forge a line nor steer a terminal; at most `most` bytes of the text are kept, then "...".
std::string escaped(std::string_view text, std::size_t most = 256);

}  // namespace tentq
