// Values into settings, and the printed form; the rules between values are in rules.cc.
#include "daemon/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>

#include "daemon/config/keys.h"
#include "daemon/config/read_json.h"

namespace tentq {
namespace {

constexpr std::size_t kMostFileBytes = 1u << 20;

ConfigError file_error(const std::string& path, std::string message, std::string expected) {
  ConfigError error;
  error.file = path;
  error.message = std::move(message);
  error.expected = std::move(expected);
  return error;
}

// The nearest group of keys, for an object under an unknown name.
std::string nearest_section(std::string_view name) {
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigKey& known : config_keys()) {
    for (auto dot = known.path.find('.'); dot != std::string::npos;
         dot = known.path.find('.', dot + 1)) {
      const std::string section = known.path.substr(0, dot);
      const std::size_t found = edit_distance(name, section);
      if (found >= least) continue;
      least = found;
      nearest = section;
    }
  }
  return nearest;
}

std::string unknown_key_message(const std::string& key) {
  return "unknown key; the nearest known key is `" + nearest_key(key) + "`";
}

// Sets one value; appends what is wrong with it, with a place only where that is inside the value.
void set_value(const std::string& path, const ConfigValue& value, Settings* settings,
               std::vector<ConfigError>* errors) {
  const ConfigKey* key = find_config_key(path);
  if (key != nullptr && key->parse_parts) return key->parse_parts(value, settings, errors);
  if (key != nullptr && key->parse(value, settings)) return;
  ConfigError& error = errors->emplace_back();
  error.key = path;
  error.value = value.raw;
  if (key == nullptr && is_config_section(path)) {
    error.message = "is a group of keys, not a value";
    error.expected = "an object { … }";
  } else if (key == nullptr) {
    error.message = unknown_key_message(path);
  } else {
    error.message = "bad value";
    error.expected = key->expected;
  }
}

void apply_placed(const PlacedValue& placed, const std::string& file, ConfigOutcome* outcome,
                  Settings* settings) {
  const std::size_t first = outcome->errors.size();
  if (!placed.section) {
    set_value(placed.path, placed.value, settings, &outcome->errors);
  } else if (!is_config_section(placed.path)) {
    const ConfigKey* key = find_config_key(placed.path);
    ConfigError& error = outcome->errors.emplace_back();
    error.key = placed.path;
    error.value = "{ … }";
    error.message = key == nullptr ? "unknown group of keys; the nearest known one is `" +
                                         nearest_section(placed.path) + '`'
                                   : "bad value";
    if (key != nullptr) error.expected = key->expected;
  }
  for (std::size_t i = first; i < outcome->errors.size(); ++i) {
    ConfigError& error = outcome->errors[i];
    error.file = file;
    if (error.line != 0) continue;
    error.line = placed.line;
    error.column = placed.column;
  }
}

// Keys inside an object that is unknown as a whole would only repeat its error.
bool inside_unknown_section(const PlacedValue& placed, const std::vector<PlacedValue>& all) {
  return std::any_of(all.begin(), all.end(), [&](const PlacedValue& other) {
    return other.section && placed.path.starts_with(other.path + '.') &&
           !is_config_section(other.path);
  });
}

// A printed value without its line breaks.
std::string one_line(const std::string& text) {
  std::string out;
  bool at_break = false;
  for (const char c : text) {
    if (c == ' ' && at_break) continue;  // an indent
    at_break = c == '\n';
    out += at_break ? ' ' : c;
  }
  return out;
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

std::vector<std::string> sections_of(std::string_view path) {
  std::vector<std::string> parts;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    parts.emplace_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  return parts;
}

// Writes the members of nested objects one by one, with commas where they belong.
class Printer {
 public:
  void member(const ConfigKey& key, const Settings& settings) {
    enter(sections_of(key.path));
    separate();
    comment(key.doc + (key.reloadable ? "" : " Needs a restart."));
    comment("Takes " + key.expected + '.');
    out_ += indent() + '"' + std::string(last_part(key.path)) + "\": " + key.print(settings);
  }
  std::string finish() {
    enter({});
    return "{" + out_ + "\n}\n";
  }

 private:
  void enter(const std::vector<std::string>& wanted) {
    std::size_t common = 0;
    while (common < open_.size() && common < wanted.size() && open_[common] == wanted[common]) {
      ++common;
    }
    while (open_.size() > common) {
      open_.pop_back();
      out_ += '\n' + indent() + '}';
      first_ = false;
    }
    for (; common < wanted.size(); ++common) {
      separate();
      out_ += indent() + '"' + wanted[common] + "\": {";
      open_.push_back(wanted[common]);
      first_ = true;
    }
  }
  void separate() {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
  }
  // A comment of one line or several.
  void comment(std::string_view text) {
    while (true) {
      const auto end = std::min(text.find('\n'), text.size());
      out_ += indent() + "// " + std::string(text.substr(0, end)) + '\n';
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }
  std::string indent() const { return std::string(2 * (open_.size() + 1), ' '); }

  std::string out_;
  std::vector<std::string> open_;
  bool first_ = true;
};

}  // namespace

std::string ConfigError::text() const {
  std::string out = file;
  if (line != 0) out += ':' + std::to_string(line) + ':' + std::to_string(column);
  if (!out.empty()) out += ": ";
  if (!key.empty()) out += '`' + key + "`: ";
  out += message;
  if (!value.empty()) out += "; it is " + value;
  if (!expected.empty()) out += "; expected " + expected;
  return out;
}

ConfigOutcome load_settings(const std::string& path) {
  ConfigOutcome outcome;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char block[4096];
  while (file.good() && text.size() <= kMostFileBytes) {
    file.read(block, sizeof(block));
    text.append(block, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= kMostFileBytes) {
    outcome.missing = errno == ENOENT;
    outcome.errors.push_back(
        file_error(path, std::string("cannot be read: ") + std::strerror(errno == 0 ? EIO : errno),
                   "a readable file"));
    return outcome;
  }
  if (text.size() > kMostFileBytes) {
    outcome.errors.push_back(file_error(path, "too large", "at most 1 MiB"));
    return outcome;
  }
  return parse_settings(text, path);
}

ConfigOutcome parse_settings(std::string_view text, const std::string& file) {
  ConfigOutcome outcome;
  JsonReading reading = read_json(text, file);
  outcome.errors = std::move(reading.errors);
  Settings settings;
  for (const PlacedValue& placed : reading.values) {
    if (!inside_unknown_section(placed, reading.values)) {
      apply_placed(placed, file, &outcome, &settings);
    }
  }
  if (outcome.errors.empty()) {
    outcome.errors = check_settings(settings);
    for (ConfigError& error : outcome.errors) {
      error.file = file;
      for (const PlacedValue& placed : reading.values) {
        if (placed.path != error.key || placed.section) continue;
        error.line = placed.line;
        error.column = placed.column;
      }
    }
  }
  if (outcome.errors.empty()) outcome.settings = std::move(settings);
  std::stable_sort(outcome.errors.begin(), outcome.errors.end(),
                   [](const ConfigError& a, const ConfigError& b) { return a.line < b.line; });
  return outcome;
}

std::string print_settings(const Settings& settings) {
  Printer printer;
  for (const ConfigKey& key : config_keys()) printer.member(key, settings);
  return printer.finish();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string nearest_key(std::string_view key) {
  const ConfigKey* nearest = nullptr;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigKey& known : config_keys()) {
    std::size_t found = edit_distance(key, known.path);
    // People also forget the group: `workers` is near `shm.workers`.
    const std::size_t part = edit_distance(last_part(key), last_part(known.path)) + 1;
    if (part <= 1 + last_part(key).size() / 3) found = std::min(found, part);
    if (found < least) {
      least = found;
      nearest = &known;
    }
  }
  return nearest->path;
}

ReloadPlan diff_for_reload(const Settings& running, const Settings& wanted) {
  ReloadPlan plan;
  plan.result = running;
  for (const ConfigKey& key : config_keys()) {
    ConfigChange change{key.path, one_line(key.print(running)), one_line(key.print(wanted))};
    if (change.from == change.to) continue;
    if (!key.reloadable) {
      plan.refused.push_back(std::move(change));
      continue;
    }
    key.copy(wanted, &plan.result);
    plan.changes.push_back(std::move(change));
  }
  plan.errors = check_settings(plan.result);
  if (!plan.errors.empty()) {
    plan.result = running;
    plan.changes.clear();
  }
  return plan;
}

StatusCode apply_assignment(Settings* settings, std::string_view assignment, std::string* why,
                            ConfigChange* change) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    *why = "expected KEY=VALUE, for example policy=strict";
    return StatusCode::invalid_argument;
  }
  const std::string path(assignment.substr(0, equals));
  Settings changed = *settings;
  std::vector<ConfigError> errors;
  set_value(path, read_single_value(assignment.substr(equals + 1)), &changed, &errors);
  if (!errors.empty()) {
    for (ConfigError& error : errors) error.line = 0;  // a command line has no places
    *why = errors.front().text();
    return StatusCode::invalid_argument;
  }
  const ConfigKey* key = find_config_key(path);
  if (!key->reloadable) {
    *why = '`' + path +
           "` cannot change while the daemon runs; put it into the configuration "
           "file and restart tentqd";
    return StatusCode::unsupported;
  }
  const std::vector<ConfigError> contradictions = check_settings(changed);
  if (!contradictions.empty()) {
    *why = contradictions.front().text();
    return StatusCode::invalid_argument;
  }
  if (change != nullptr)
    *change = {path, one_line(key->print(*settings)), one_line(key->print(changed))};
  *settings = std::move(changed);
  return StatusCode::ok;
}

}  // namespace tentq
