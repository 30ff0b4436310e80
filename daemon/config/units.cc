// Text forms of sizes and durations, and the small printers of the key kinds.
#include <array>
#include <charconv>
#include <limits>

#include "daemon/config/key_kinds.h"

namespace tentq {
namespace {

template <class Value>
struct Unit {
  std::string_view name;
  Value factor;
};

constexpr std::array<Unit<std::uint64_t>, 5> kSizeUnits = {{{"TiB", std::uint64_t{1} << 40},
                                                            {"GiB", std::uint64_t{1} << 30},
                                                            {"MiB", std::uint64_t{1} << 20},
                                                            {"KiB", std::uint64_t{1} << 10},
                                                            {"B", 1}}};
constexpr std::array<Unit<std::uint64_t>, 6> kDurationUnits = {{{"h", 3'600'000'000'000},
                                                                {"min", 60'000'000'000},
                                                                {"s", 1'000'000'000},
                                                                {"ms", 1'000'000},
                                                                {"us", 1'000},
                                                                {"ns", 1}}};

// Digits, then whatever is left. False: no digits or too large.
bool split_number(std::string_view text, std::uint64_t* number, std::string_view* rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc{}) return false;
  *rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

template <std::size_t N>
bool scale(std::string_view unit, const std::array<Unit<std::uint64_t>, N>& units,
           std::uint64_t most, std::uint64_t* number) {
  for (const auto& known : units) {
    if (known.name != unit) continue;
    if (*number > most / known.factor) return false;
    *number *= known.factor;
    return true;
  }
  return false;
}

template <std::size_t N>
std::string print_in(std::uint64_t number, const std::array<Unit<std::uint64_t>, N>& units,
                     std::string_view zero) {
  if (number == 0) return std::string(zero);
  for (const auto& unit : units) {
    if (number % unit.factor == 0) return std::to_string(number / unit.factor).append(unit.name);
  }
  return std::to_string(number);
}

}  // namespace

bool parse_size(std::string_view text, std::uint64_t* bytes) {
  std::string_view unit;
  if (!split_number(text, bytes, &unit)) return false;
  return unit.empty() || scale(unit, kSizeUnits, std::numeric_limits<std::uint64_t>::max(), bytes);
}

bool parse_duration(std::string_view text, Duration* duration) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::string_view unit;
  std::uint64_t number = 0;
  if (!split_number(text, &number, &unit)) return false;
  if (!scale(unit, kDurationUnits, kMost, &number)) return false;
  *duration = Duration{static_cast<std::int64_t>(number)};
  return true;
}

std::string print_size(std::uint64_t bytes) {
  return print_in(bytes, kSizeUnits, "0B");
}

std::string print_duration(Duration duration) {
  return print_in(static_cast<std::uint64_t>(duration.count()), kDurationUnits, "0s");
}

namespace keys {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string number_range(std::uint64_t low, std::uint64_t high) {
  return "a number from " + std::to_string(low) + " to " + std::to_string(high);
}

std::string size_range(std::uint64_t low, std::uint64_t high) {
  return "a size from " + print_size(low) + " to " + print_size(high) +
         ", as a number of bytes or like \"64MiB\"";
}

std::string duration_range(Duration low, Duration high) {
  return "a duration from \"" + print_duration(low) + "\" to \"" + print_duration(high) +
         "\" with its unit (ns, us, ms, s, min, h)";
}

bool size_of(const ConfigValue& value, std::uint64_t* bytes) {
  if (const auto* number = std::get_if<std::uint64_t>(&value.content)) {
    *bytes = *number;
    return true;
  }
  const auto* text = std::get_if<std::string>(&value.content);
  return text != nullptr && parse_size(*text, bytes);
}

bool absolute_path(std::string_view text, std::size_t most) {
  if (text.empty() || text.front() != '/' || text.size() > most) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

bool octal_mode(std::string_view text, unsigned* mode) {
  unsigned parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, 8);
  if (error != std::errc{} || end != text.data() + text.size() || parsed > 0777) return false;
  *mode = parsed;
  return true;
}

std::string print_mode(unsigned mode) {
  std::string out = "0000";
  for (std::size_t digit = 0; digit < 3; ++digit) {
    out[3 - digit] = static_cast<char>('0' + ((mode >> (3 * digit)) & 7u));
  }
  return out;
}

std::string print_list(const std::vector<std::uint32_t>& list) {
  std::string out = "[";
  for (const std::uint32_t id : list) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(id);
  }
  return out + "]";
}

}  // namespace keys
}  // namespace tentq
