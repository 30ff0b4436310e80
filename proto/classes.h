// Traffic classes. Class 0 is the daemon's own; clients submit to classes 1 to 4 by default.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tentq {

inline constexpr std::size_t kMaxClasses = 8;

enum class ClassId : std::uint8_t {
  internal = 0,
  foreground = 1,
  standard = 2,  // shown as "default"
  prefetch = 3,
  background = 4,
};

inline constexpr std::size_t kClassCount = 5;
inline constexpr std::array<std::string_view, kClassCount> kClassNames = {
    "internal", "foreground", "default", "prefetch", "background"};

// What a transfer is for, in the words that users of Mooncake's TENT know, and the class that it
// belongs to.
struct Intent {
  std::string_view name;
  ClassId cls;
};
inline constexpr std::array<Intent, 7> kIntents = {{
    {"foreground_get", ClassId::foreground},
    {"background_prefetch", ClassId::prefetch},
    {"weight_loading", ClassId::standard},
    {"unspecified", ClassId::standard},
    {"migration", ClassId::background},
    {"checkpoint", ClassId::background},
    {"background_offload", ClassId::background},
}};

// Equal but for case, and with '-' as '_'.
constexpr bool is_same_word(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (plain(a[i]) != plain(b[i])) return false;
  }
  return true;
}

// The class that clients call so: by its own name ("prefetch"), or by an intent
// ("background_prefetch", "BACKGROUND-PREFETCH").
constexpr std::optional<ClassId> class_named(std::string_view name) {
  for (std::size_t c = 1; c < kClassCount; ++c) {
    if (is_same_word(name, kClassNames[c])) return static_cast<ClassId>(c);
  }
  for (const Intent& intent : kIntents) {
    if (is_same_word(name, intent.name)) return intent.cls;
  }
  return std::nullopt;
}
// What class_named takes, for errors.
inline constexpr std::string_view kClassWords =
    "a class (foreground, default, prefetch, background) or an intent (foreground_get, "
    "background_prefetch, weight_loading, unspecified, migration, checkpoint, background_offload)";

constexpr std::size_t index_of(ClassId cls) {
  return static_cast<std::size_t>(cls);
}
// Bit of a class in a mask of granted classes.
constexpr std::uint32_t bit_of(ClassId cls) {
  return 1u << index_of(cls);
}
// Classes that a client can be granted.
inline constexpr std::uint32_t kClientClassMask = 0b11110;

}  // namespace tentq
