// JSON with comments into a flat list of values with their places. Syntax only: knows no key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/keys.h"

namespace tentq {

struct PlacedValue {
  std::string path;  // "limits.host.owners"
  unsigned line = 0;
  unsigned column = 0;
  ConfigValue value;
  bool section = false;  // an object that holds no value: only its place counts
};

struct JsonReading {
  std::vector<PlacedValue> values;
  std::vector<ConfigError> errors;  // syntax, duplicate keys, nesting
};

// `file` is used in errors only.
JsonReading read_json(std::string_view text, const std::string& file);
// A single value as it stands on a command line: JSON if it is JSON, else the text itself.
ConfigValue read_single_value(std::string_view text);

}  // namespace tentq
