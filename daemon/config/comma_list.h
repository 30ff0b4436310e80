// A text that is a list: items between commas, with spaces around them or not.
#pragma once

#include <string_view>

namespace tentq {

inline std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// `take` gets each item, an empty one between two commas too, until it answers false: then so does
// this. A text of spaces has no item.
template <class Take>
bool take_items(std::string_view text, Take take) {
  if (without_spaces(text).empty()) return true;
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!take(without_spaces(text.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tentq
