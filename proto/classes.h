// Traffic classes. Class 0 is the daemon's own; clients submit to classes 1 to 4 by default.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
