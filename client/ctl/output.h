// Where tentqctl writes, and how: plain text that fits 100 columns, colours on a terminal only.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tentq::ctl {

inline constexpr std::size_t kMostColumns = 100;

enum ExitCode : int { kExitOk = 0, kExitFailed = 1, kExitUsage = 2 };

struct Output {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // colours, and a live `top`
  bool json = false;
};

enum class Tint { none, bold, dim, good, warn, bad };
// The text in a colour, or as it is when not on a terminal.
std::string tinted(std::string_view text, Tint tint, bool terminal);

// Text from outside: control characters become '?', so that no name steers the terminal.
std::string printable(std::string_view text);
// Characters that the text takes on the screen (UTF-8).
std::size_t width_of(std::string_view text);
// Cut to `most` characters, the last one then being "…".
std::string cut(std::string_view text, std::size_t most);
// Text broken at spaces into lines of at most `most` characters, each after the first with
// `indent`.
std::string wrapped(std::string_view text, std::size_t most, std::size_t indent);

// 0, 17, 1.2K, 35M … (powers of 1000), at most 5 characters.
std::string count_text(std::uint64_t count);
// 0B, 512B, 1.5KiB, 64MiB … at most 7 characters.
std::string bytes_text(std::uint64_t bytes);
// "-", 512ns, 20us, 1.5ms, 3.2s, 4min, 2h, 5d; "-" for 0.
std::string age_text(std::uint64_t ns);

}  // namespace tentq::ctl
