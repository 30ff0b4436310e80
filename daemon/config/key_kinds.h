// Builders for the kinds of keys: each pairs a parser with the printer that it reads back.
// `at` is a generic accessor: [](auto& settings) -> auto& { return settings.shm.workers; }.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "daemon/config/keys.h"

namespace tentq::keys {

enum class Reload : bool { no, yes };

std::string quoted(std::string_view text);  // as a JSON string
std::string number_range(std::uint64_t low, std::uint64_t high);
std::string size_range(std::uint64_t low, std::uint64_t high);
std::string duration_range(Duration low, Duration high);

// Reads a number of bytes, written as a number or with a unit.
bool size_of(const ConfigValue& value, std::uint64_t* bytes);
bool absolute_path(std::string_view text, std::size_t most);
bool octal_mode(std::string_view text, unsigned* mode);
std::string print_mode(unsigned mode);
std::string print_list(const std::vector<std::uint32_t>& list);

// What all kinds share: the texts, and taking a value over.
template <class At>
ConfigKey base(const char* path, const char* doc, std::string expected, At at, Reload reload) {
  ConfigKey key;
  key.path = path;
  key.doc = doc;
  key.expected = std::move(expected);
  key.reloadable = reload == Reload::yes;
  key.copy = [=](const Settings& from, Settings* to) { at(*to) = at(from); };
  return key;
}

template <class At>
ConfigKey number(const char* path, const char* doc, At at, std::uint64_t low, std::uint64_t high,
                 Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, number_range(low, high), at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* number = std::get_if<std::uint64_t>(&value.content);
    if (number == nullptr || *number < low || *number > high) return false;
    using Field = std::remove_reference_t<decltype(at(*settings))>;
    at(*settings) = static_cast<Field>(*number);
    return true;
  };
  key.print = [=](const Settings& settings) { return std::to_string(at(settings)); };
  return key;
}

template <class At>
ConfigKey power_of_two(const char* path, const char* doc, At at, std::uint64_t low,
                       std::uint64_t high) {
  ConfigKey key = number(path, doc, at, low, high);
  key.expected = "a power of two from " + std::to_string(low) + " to " + std::to_string(high);
  key.parse = [in_range = key.parse](const ConfigValue& value, Settings* settings) {
    const auto* number = std::get_if<std::uint64_t>(&value.content);
    if (number == nullptr || (*number & (*number - 1)) != 0) return false;
    return in_range(value, settings);
  };
  return key;
}

template <class At>
ConfigKey size(const char* path, const char* doc, At at, std::uint64_t low, std::uint64_t high,
               Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, size_range(low, high), at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    std::uint64_t bytes = 0;
    if (!size_of(value, &bytes) || bytes < low || bytes > high) return false;
    using Field = std::remove_reference_t<decltype(at(*settings))>;
    at(*settings) = static_cast<Field>(bytes);
    return true;
  };
  key.print = [=](const Settings& settings) { return quoted(print_size(at(settings))); };
  return key;
}

// A number of bytes from `low` on, or 0 for "none".
template <class At>
ConfigKey size_or_zero(const char* path, const char* doc, At at, std::uint64_t low,
                       std::uint64_t high) {
  ConfigKey key = size(path, doc, at, low, high);
  key.expected = "0, or " + key.expected;
  key.parse = [=, in_range = key.parse](const ConfigValue& value, Settings* settings) {
    std::uint64_t bytes = 0;
    if (size_of(value, &bytes) && bytes == 0) return at(*settings) = 0, true;
    return in_range(value, settings);
  };
  return key;
}

template <class At>
ConfigKey duration(const char* path, const char* doc, At at, Duration low, Duration high,
                   Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, duration_range(low, high), at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* text = std::get_if<std::string>(&value.content);
    Duration parsed{};
    if (text == nullptr || !parse_duration(*text, &parsed)) return false;
    if (parsed < low || parsed > high) return false;
    at(*settings) = parsed;
    return true;
  };
  key.print = [=](const Settings& settings) { return quoted(print_duration(at(settings))); };
  return key;
}

template <class At>
ConfigKey boolean(const char* path, const char* doc, At at, Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, "true or false", at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* truth = std::get_if<bool>(&value.content);
    if (truth == nullptr) return false;
    at(*settings) = *truth;
    return true;
  };
  key.print = [=](const Settings& settings) { return at(settings) ? "true" : "false"; };
  return key;
}

// One of `names`; the value of names[i] is Enum{i}.
template <class At, std::size_t N>
ConfigKey choice(const char* path, const char* doc, At at, std::array<std::string_view, N> names,
                 Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, "one of", at, reload);
  for (std::size_t i = 0; i < N; ++i) {
    key.expected += (i == 0 ? " " : ", ") + quoted(names[i]);
  }
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* text = std::get_if<std::string>(&value.content);
    if (text == nullptr) return false;
    for (std::size_t i = 0; i < N; ++i) {
      using Field = std::remove_reference_t<decltype(at(*settings))>;
      if (names[i] == *text) return at(*settings) = static_cast<Field>(i), true;
    }
    return false;
  };
  key.print = [=](const Settings& settings) {
    return quoted(names[static_cast<std::size_t>(at(settings))]);
  };
  return key;
}

// A text that `accept` takes.
template <class At, class Accept>
ConfigKey text(const char* path, const char* doc, const char* expected, At at, Accept accept,
               Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, expected, at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* written = std::get_if<std::string>(&value.content);
    if (written == nullptr || !accept(*written)) return false;
    at(*settings) = *written;
    return true;
  };
  key.print = [=](const Settings& settings) { return quoted(at(settings)); };
  return key;
}

// A file mode in octal, e.g. "0660".
template <class At>
ConfigKey mode(const char* path, const char* doc, At at) {
  ConfigKey key = base(path, doc, "an octal file mode like \"0660\"", at, Reload::no);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* written = std::get_if<std::string>(&value.content);
    return written != nullptr && octal_mode(*written, &at(*settings));
  };
  key.print = [=](const Settings& settings) { return quoted(print_mode(at(settings))); };
  return key;
}

// A group id, or −1 for the daemon's own.
template <class At>
ConfigKey group_id(const char* path, const char* doc, At at) {
  ConfigKey key = base(path, doc, "a gid, or -1", at, Reload::no);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    if (const auto* negative = std::get_if<std::int64_t>(&value.content)) {
      return *negative == -1 && (at(*settings) = -1, true);
    }
    const auto* gid = std::get_if<std::uint64_t>(&value.content);
    if (gid == nullptr || *gid >= 0xffff'ffffu) return false;
    at(*settings) = static_cast<std::int64_t>(*gid);
    return true;
  };
  key.print = [=](const Settings& settings) { return std::to_string(at(settings)); };
  return key;
}

// A list of user or group ids.
template <class At>
ConfigKey id_list(const char* path, const char* doc, At at, Reload reload = Reload::no) {
  ConfigKey key = base(path, doc, "a list of at most 1024 ids, e.g. [1000, 1001]", at, reload);
  key.parse = [=](const ConfigValue& value, Settings* settings) {
    const auto* list = std::get_if<ConfigValue::List>(&value.content);
    if (list == nullptr || list->size() > 1024) return false;
    std::vector<std::uint32_t> ids;
    for (const std::uint64_t id : *list) {
      if (id >= 0xffff'ffffu) return false;
      ids.push_back(static_cast<std::uint32_t>(id));
    }
    at(*settings) = std::move(ids);
    return true;
  };
  key.print = [=](const Settings& settings) { return print_list(at(settings)); };
  return key;
}

}  // namespace tentq::keys
