// Short forms of counts, bytes and ages, and text that is safe and narrow enough for a terminal.
#include "client/ctl/output.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tentq::ctl {
namespace {

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
}

// "1.5" below ten, else "15"; truncated, never rounded up to the next unit.
std::string short_number(std::uint64_t number, std::uint64_t unit) {
  const std::uint64_t whole = number / unit;
  const std::uint64_t tenth = number % unit / std::max<std::uint64_t>(unit / 10, 1);
  if (whole >= 10 || tenth == 0 || unit == 1) return std::to_string(whole);
  return std::to_string(whole) + '.' + std::to_string(std::min<std::uint64_t>(tenth, 9));
}

struct Unit {
  std::uint64_t size;
  std::string_view name;
};

template <std::size_t N>
std::string in_units(std::uint64_t number, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (number >= unit.size) return short_number(number, unit.size).append(unit.name);
  }
  return std::to_string(number);
}

}  // namespace

std::string tinted(std::string_view text, Tint tint, bool terminal) {
  if (!terminal || tint == Tint::none || text.empty()) return std::string(text);
  constexpr std::array<std::string_view, 6> kCodes = {"", "1", "2", "32", "33", "31"};
  return std::string("\x1b[")
      .append(kCodes[static_cast<std::size_t>(tint)])
      .append("m")
      .append(text)
      .append("\x1b[0m");
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // 0xc2 0x80 … 0x9f are control characters too.
    const bool high_control =
        byte == 0xc2u && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0u;
    if (byte < 0x20 || byte == 0x7f || high_control) {
      out += '?';
      i += high_control ? 1 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut(std::string_view text, std::size_t most) {
  if (width_of(text) <= most) return std::string(text);
  if (most == 0) return {};
  std::size_t characters = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (starts_character(text[end]) && characters++ == most - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(std::string_view text, std::size_t most, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t width = width_of(word);
    if (column != 0 && column + 1 + width > most) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out.append(word);
    column += width;
  }
  return out;
}

std::string count_text(std::uint64_t count) {
  static constexpr std::array<Unit, 5> kUnits = {{{1'000'000'000'000'000, "P"},
                                                  {1'000'000'000'000, "T"},
                                                  {1'000'000'000, "G"},
                                                  {1'000'000, "M"},
                                                  {1'000, "K"}}};
  return in_units(count, kUnits);
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<Unit, 6> kUnits = {{{std::uint64_t{1} << 50, "PiB"},
                                                  {std::uint64_t{1} << 40, "TiB"},
                                                  {std::uint64_t{1} << 30, "GiB"},
                                                  {std::uint64_t{1} << 20, "MiB"},
                                                  {std::uint64_t{1} << 10, "KiB"},
                                                  {1, "B"}}};
  return bytes == 0 ? "0B" : in_units(bytes, kUnits);
}

std::string age_text(std::uint64_t ns) {
  static constexpr std::array<Unit, 7> kUnits = {{{86'400'000'000'000, "d"},
                                                  {3'600'000'000'000, "h"},
                                                  {60'000'000'000, "min"},
                                                  {1'000'000'000, "s"},
                                                  {1'000'000, "ms"},
                                                  {1'000, "us"},
                                                  {1, "ns"}}};
  return ns == 0 ? "-" : in_units(ns, kUnits);
}

}  // namespace tentq::ctl
