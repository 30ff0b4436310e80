// JSON from outside: never throws, never deeper than it is looked into, and what is absent or of
// another type reads as empty.
#pragma once

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace tentq::directory {

using Json = nlohmann::json;

// Deeper values are left out. Discarded (and so without members) when it is no JSON.
inline Json parse_json(std::string_view text) {
  constexpr int kMostDepth = 16;
  return Json::parse(
      text.begin(), text.end(),
      [](int depth, Json::parse_event_t, Json&) { return depth <= kMostDepth; }, false);
}

// Null when there is no such member.
inline const Json* member_of(const Json& json, const char* member) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(member);
  return found == json.end() ? nullptr : &*found;
}

inline std::string_view text_of(const Json& json, const char* member) {
  const Json* found = member_of(json, member);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

// The gateway writes numbers of 64 bits as texts, and leaves out those that are 0. Nothing when it
// is something else, or out of range.
template <class Number>
std::optional<Number> number_of(const Json& json, const char* member) {
  const Json* found = member_of(json, member);
  if (found == nullptr) return Number{};
  std::string_view text;
  std::string written;
  if (found->is_string()) {
    text = found->get_ref<const std::string&>();
  } else if (found->is_number_integer()) {
    text = written = found->dump();
  }
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace tentq::directory
