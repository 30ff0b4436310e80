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
struct ConfigValue {
  using List = std::vector<std::uint64_t>;
  struct Other {};  // null, a fraction, a nested list: accepted by no key
  std::variant<Other, bool, std::uint64_t, std::int64_t, std::string, List> content;
  std::string raw;  // as written, for errors
};

struct ConfigKey {
  std::string path;      // "limits.host.owners"
  std::string doc;       // what it means, one sentence
  std::string expected;  // what its parser accepts
  bool reloadable = false;
  // False: the value is not acceptable and nothing was changed.
  std::function<bool(const ConfigValue&, Settings*)> parse;
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
