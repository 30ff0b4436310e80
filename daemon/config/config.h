// Reading, checking and printing the configuration: JSON with comments into Settings and back.
// Nothing here throws or keeps state; call it from any thread. The keys live in key_table.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings.h"
#include "proto/status.h"

namespace tentq {

// One thing that is wrong with a configuration, with its place. Empty fields are unknown.
struct ConfigError {
  std::string file;
  unsigned line = 0;     // 1-based; 0: not in a file
  unsigned column = 0;   // 1-based, in bytes
  std::string key;       // "limits.host.owners"
  std::string value;     // as written, shortened
  std::string expected;  // "a number from 1 to 256"
  std::string message;   // "unknown key; the nearest known key is `policy`"

  // One line: `file:line:column: key: message (value …; expected …)`.
  std::string text() const;
};

struct ConfigOutcome {
  std::optional<Settings> settings;  // set if and only if errors is empty
  std::vector<ConfigError> errors;
  bool missing = false;  // the file does not exist (errors says so too)

  bool ok() const { return settings.has_value(); }
};

// Reads a file of at most 1 MiB. All errors are found in one go, except after a syntax error.
ConfigOutcome load_settings(const std::string& path);
// The same for a text; `file` is used in errors only. An empty text means the defaults.
ConfigOutcome parse_settings(std::string_view text, const std::string& file);

// Every key with its value, what it means and what it accepts; parses back to the same settings.
std::string print_settings(const Settings& settings);

// Contradictions between values that are each in range (file, line and column stay unset).
std::vector<ConfigError> check_settings(const Settings& settings);

// One key whose value differs.
struct ConfigChange {
  std::string key;
  std::string from;  // as printed
  std::string to;
};

// What a reload changes: `result` is the running settings with every change that is possible at
// run time; what needs a restart is in `refused` and keeps its old value. When `result` would
// contradict itself, `errors` says why, nothing changes and `result` is the old settings.
struct ReloadPlan {
  Settings result;
  std::vector<ConfigChange> changes;
  std::vector<ConfigChange> refused;
  std::vector<ConfigError> errors;
};
ReloadPlan diff_for_reload(const Settings& running, const Settings& wanted);

// `tentqctl set KEY=VALUE`. ok, and *settings is changed; or invalid_argument (no such key, bad
// value, contradiction) or unsupported (needs a restart), *settings is untouched and *why says what
// is wrong and what to do. *change (may be null) gets what was changed.
StatusCode apply_assignment(Settings* settings, std::string_view assignment, std::string* why,
                            ConfigChange* change = nullptr);

// Insertions, deletions and substitutions, all counting 1.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The known key that is closest in edit distance.
std::string nearest_key(std::string_view key);

// Memory of all sessions together (REQ and STA areas), bytes; bounded by kMostSessionMemory.
std::uint64_t session_memory_bytes(const SessionSettings& sessions);
inline constexpr std::uint64_t kMostSessionMemory = std::uint64_t{4} << 30;

}  // namespace tentq
