// The one table of configuration keys. Parsing, printing, the commented example, the search for the
// nearest key and the reload rules are all derived from it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/settings.h"

namespace tentq {

// A JSON value as the keys see it. Negative numbers are std::int64_t, all others std::uint64_t.
struct ConfigRow;
struct ConfigValue {
  using List = std::vector<std::uint64_t>;
  using Rows = std::vector<ConfigRow>;  // a list of objects; an empty list is a List
  struct Other {};                      // null, a fraction, a nested list: accepted by no key
  std::variant<Other, bool, std::uint64_t, std::int64_t, std::string, List, Rows> content;
  std::string raw;  // as written, for errors
};
struct ConfigMember {
  std::string name;
  unsigned line = 0, column = 0;  // of its value
  ConfigValue value;
};
struct ConfigRow {
  unsigned line = 0, column = 0;
  std::vector<ConfigMember> members;  // no name twice
};

struct ConfigError;

struct ConfigKey {
  std::string path;      // "limits.host.owners"
  std::string doc;       // what it means, one sentence
  std::string expected;  // what its parser accepts
  bool reloadable = false;
  // False: the value is not acceptable and nothing was changed.
  std::function<bool(const ConfigValue&, Settings*)> parse;
  // For values with parts, beside `parse`: appends what is wrong with which part.
  std::function<void(const ConfigValue&, Settings*, std::vector<ConfigError>*)> parse_parts;
  // The value as JSON text that `parse` accepts.
  std::function<std::string(const Settings&)> print;
  // Takes the value of `from` over.
  std::function<void(const Settings& from, Settings* to)> copy;
};

// In the order in which they are printed; keys of one object are neighbours.
const std::vector<ConfigKey>& config_keys();
const ConfigKey* find_config_key(std::string_view path);
// True for the inner part of a path: "limits", "limits.host".
bool is_config_section(std::string_view path);

// Text forms of units, shared by the parsers and the printers. False: not of this form or too
// large.
bool parse_size(std::string_view text, std::uint64_t* bytes);    // "64MiB", "4096", "1GiB"
bool parse_duration(std::string_view text, Duration* duration);  // "20us", "1ms", "5s", "2min"
std::string print_size(std::uint64_t bytes);    // the largest unit that divides it: "64MiB"
std::string print_duration(Duration duration);  // "20us"

}  // namespace tentq
