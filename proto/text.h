// Fixed-size text fields of messages: always NUL-terminated when written, never trusted when read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace tentq {

template <std::size_t N>
struct Text {
  std::array<char, N> bytes{};

  // Keeps what fits; the last byte stays NUL.
  constexpr void assign(std::string_view text) {
    bytes.fill('\0');
    std::copy_n(text.begin(), std::min(text.size(), N - 1), bytes.begin());
  }
  // Up to the first NUL, or all N bytes when there is none.
  constexpr std::string_view view() const {
    const auto end = std::find(bytes.begin(), bytes.end(), '\0');
    return {bytes.data(), static_cast<std::size_t>(end - bytes.begin())};
  }
  constexpr bool terminated() const {
    return std::find(bytes.begin(), bytes.end(), '\0') != bytes.end();
  }
};

inline constexpr std::size_t kNameBytes = 64;
using NameText = Text<kNameBytes>;

// Client and segment names: 1 to 63 of [A-Za-z0-9._-], not starting with a dot or dash.
constexpr bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() >= kNameBytes) return false;
  if (name.front() == '.' || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace tentq
