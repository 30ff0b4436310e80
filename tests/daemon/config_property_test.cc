// Properties of the configuration over random settings and random damage.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "daemon/config/config.h"
#include "daemon/config/keys.h"

namespace tentq {
namespace {

// A value that is often acceptable to the key, in the kind that it prints now.
ConfigValue random_value(const ConfigKey& key) {
  const std::string printed = key.print(Settings{});
  if (printed == "true" || printed == "false") return {*rc::gen::arbitrary<bool>(), {}};
  if (printed.front() == '[') {
    return {*rc::gen::container<ConfigValue::List>(rc::gen::inRange<std::uint64_t>(0, 1u << 31)),
            {}};
  }
  if (printed.front() != '"') {
    return {std::uint64_t{1} << *rc::gen::inRange(0, 20), {}};
  }
  return {*rc::gen::elementOf(std::vector<std::string>{
              "64KiB", "100000", "1MiB",        "17KiB",  "1GiB",      "20us", "1500us",
              "3s",    "1min",   "0600",        "0666",   "strict",    "fifo", "direct",
              "debug", "error",  "/tmp/a.sock", "/var/b", "operators", "0s",   "0B"}),
          {}};
}

Settings random_settings() {
  Settings settings;
  for (const ConfigKey& key : config_keys()) {
    if (*rc::gen::inRange(0, 12) == 0) key.parse(random_value(key), &settings);
  }
  return settings;
}

RC_GTEST_PROP(ConfigProperty, WhatIsPrintedParsesToTheSame, ()) {
  const Settings settings = random_settings();
  const std::string printed = print_settings(settings);
  const ConfigOutcome outcome = parse_settings(printed, "printed");
  // Values in range may contradict each other; then exactly that is said.
  RC_ASSERT(outcome.errors.size() == check_settings(settings).size());
  RC_TAG(outcome.ok() ? "consistent" : "contradictory");
  if (outcome.ok()) RC_ASSERT(print_settings(*outcome.settings) == printed);
}

RC_GTEST_PROP(ConfigProperty, AReloadKeepsWhatNeedsARestart, ()) {
  const Settings running = random_settings();
  const Settings wanted = random_settings();
  const ReloadPlan plan = diff_for_reload(running, wanted);
  for (const ConfigKey& key : config_keys()) {
    const std::string now = key.print(plan.result);
    const bool taken = key.reloadable && plan.errors.empty();
    RC_ASSERT(now == key.print(taken ? wanted : running));
  }
}

RC_GTEST_PROP(ConfigProperty, DamagedTextIsAnErrorOrValidButNeverACrash, ()) {
  std::string text = print_settings(Settings{});
  const auto damages = *rc::gen::inRange(1, 6);
  for (int i = 0; i < damages; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: text[at] = *rc::gen::arbitrary<char>(); break;
      case 1: text.erase(at, *rc::gen::inRange<std::size_t>(1, 20)); break;
      default:
        text.insert(at, *rc::gen::elementOf(std::vector<std::string>{
                            "{", "}", ",", "\"", "/*", "*/", "//", "\n", "\\", "[", "0"}));
    }
  }
  const ConfigOutcome outcome = parse_settings(text, "damaged");
  RC_ASSERT(outcome.ok() == outcome.errors.empty());
  for (const ConfigError& error : outcome.errors) RC_ASSERT(!error.message.empty());
}

RC_GTEST_PROP(ConfigProperty, SizesAndDurationsRoundTrip, (std::uint64_t bytes, std::uint32_t ns)) {
  std::uint64_t size = 0;
  RC_ASSERT(parse_size(print_size(bytes), &size));
  RC_ASSERT(size == bytes);
  Duration duration{};
  RC_ASSERT(parse_duration(print_duration(Duration{ns}), &duration));
  RC_ASSERT(duration == Duration{ns});
}

}  // namespace
}  // namespace tentq
