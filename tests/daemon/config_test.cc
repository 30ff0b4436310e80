// The configuration: every kind of error with its place, the rules between values, reloads.
#include "daemon/config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "daemon/config/keys.h"
#include "daemon/core/core.h"
#include "tests/support/temp_directory.h"

namespace tentq {
namespace {

ConfigOutcome parse(const std::string& text) {
  return parse_settings(text, "test.json");
}

// The only error of a text.
ConfigError error_of(const std::string& text) {
  const ConfigOutcome outcome = parse(text);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.errors.size(), 1u) << text;
  return outcome.errors.empty() ? ConfigError{} : outcome.errors.front();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Settings settings_of(const std::string& text) {
  ConfigOutcome outcome = parse(text);
  for (const ConfigError& error : outcome.errors) ADD_FAILURE() << error.text();
  return outcome.ok() ? *outcome.settings : Settings{};
}

TEST(ConfigText, AnEmptyTextMeansTheDefaults) {
  for (const char* text :
       {"", "  \n", "// nothing\n", "/* nothing */", "{}", "\xef\xbb\xbf{}", "{ // nothing\n }"}) {
    EXPECT_EQ(print_settings(settings_of(text)), print_settings(Settings{})) << text;
  }
}

TEST(ConfigText, CommentsAreAllowedEverywhere) {
  const Settings settings =
      settings_of("// head\n{ /* a */ \"policy\" /* b */ : // c\n \"fifo\" /* d */ } // tail");
  EXPECT_EQ(settings.policy, core::Policy::fifo);
}

TEST(ConfigText, TakesSizesAsNumbersAndWithUnits) {
  EXPECT_EQ(settings_of(R"({"shm": {"window_bytes": 1048576}})").shm.window_bytes, 1u << 20);
  EXPECT_EQ(settings_of(R"({"shm": {"window_bytes": "8MiB"}})").shm.window_bytes, 8u << 20);
  EXPECT_EQ(settings_of(R"({"shm": {"window_bytes": "1048576"}})").shm.window_bytes, 1u << 20);
  for (const char* bad : {"\"8MB\"", "\"8 MiB\"", "\"MiB\"", "\"-8MiB\"", "\"8.5MiB\"", "\"\"",
                          "1.5", "-1", "true", "null", "[1]", "\"99999999999GiB\""}) {
    const ConfigError error = error_of(std::string(R"({"shm": {"window_bytes": )") + bad + "}}");
    EXPECT_EQ(error.key, "shm.window_bytes") << bad;
    EXPECT_TRUE(contains(error.expected, "64MiB")) << error.expected;
    EXPECT_EQ(error.value, bad);
  }
}

TEST(ConfigText, TakesARateThatIsZeroOrLargeEnough) {
  const auto rate = [](const std::string& value) {
    return R"({"shm": {"paced_bytes_per_second": )" + value + "}}";
  };
  EXPECT_EQ(settings_of("{}").shm.paced_bytes_per_second, 0u);
  EXPECT_EQ(settings_of(rate("0")).shm.paced_bytes_per_second, 0u);
  EXPECT_EQ(settings_of(rate("500000000")).shm.paced_bytes_per_second, 500'000'000u);
  EXPECT_EQ(settings_of(rate("1048576")).shm.paced_bytes_per_second, 1u << 20);
  const ConfigError error = error_of(rate("1048575"));
  EXPECT_EQ(error.key, "shm.paced_bytes_per_second");
  EXPECT_TRUE(contains(error.expected, "0, or a size from 1MiB")) << error.expected;
}

TEST(ConfigText, TakesDurationsWithTheirUnitOnly) {
  EXPECT_EQ(settings_of(R"({"loop": {"spin": "20us"}})").loop.spin, std::chrono::microseconds{20});
  EXPECT_EQ(settings_of(R"({"loop": {"spin": "0s"}})").loop.spin, Duration{0});
  EXPECT_EQ(settings_of(R"({"drain_timeout": "2min"})").drain_timeout, std::chrono::minutes{2});
  for (const char* bad : {"20", "\"20\"", "\"20 us\"", "\"us\"", "\"-1us\"", "\"2h\"",
                          "\"99999999999999999999s\"", "\"9999999999999999s\""}) {
    EXPECT_EQ(error_of(std::string(R"({"loop": {"spin": )") + bad + "}}").key, "loop.spin") << bad;
  }
}

TEST(ConfigText, TakesModesGroupsAndLists) {
  const Settings settings = settings_of(
      R"({"socket_mode": "0666", "socket_gid": 1234, "admin_socket_gid": -1,
          "sessions": {"allowed_uids": [1000, 0], "allowed_gids": []}})");
  EXPECT_EQ(settings.socket.mode, 0666u);
  EXPECT_EQ(settings.socket.gid, 1234);
  EXPECT_EQ(settings.admin_socket.gid, -1);
  EXPECT_EQ(settings.sessions.allowed_uids, (std::vector<std::uint32_t>{1000, 0}));
  EXPECT_EQ(error_of(R"({"socket_mode": "0999"})").key, "socket_mode");
  EXPECT_EQ(error_of(R"({"socket_mode": 660})").key, "socket_mode");
  EXPECT_EQ(error_of(R"({"socket_mode": "07777"})").key, "socket_mode");
  EXPECT_EQ(error_of(R"({"socket_gid": -2})").key, "socket_gid");
  EXPECT_EQ(error_of(R"({"socket_gid": 4294967295})").key, "socket_gid");
  const ConfigError error = error_of(R"({"sessions": {"allowed_uids": [1, "x"]}})");
  EXPECT_EQ(error.key, "sessions.allowed_uids");
  EXPECT_EQ(error.value, R"([1, "x"])");
}

TEST(ConfigErrors, NameFileLineColumnKeyValueAndWhatWasExpected) {
  const ConfigError error = error_of("{\n  // how\n  \"policy\":   \"fair\"\n}");
  EXPECT_EQ(error.file, "test.json");
  EXPECT_EQ(error.line, 3u);
  EXPECT_EQ(error.column, 15u);
  EXPECT_EQ(error.key, "policy");
  EXPECT_EQ(error.value, "\"fair\"");
  EXPECT_TRUE(contains(error.expected, "\"wdrr\""));
  EXPECT_EQ(error.text(),
            "test.json:3:15: `policy`: bad value; it is \"fair\"; expected " + error.expected);
}

TEST(ConfigErrors, NameTheNearestKnownKey) {
  EXPECT_TRUE(contains(error_of(R"({"polcy": "fifo"})").message, "`policy`"));
  EXPECT_TRUE(
      contains(error_of(R"({"limits": {"host": {"ownrs": 1}}})").message, "`limits.host.owners`"));
  EXPECT_TRUE(contains(error_of(R"({"workers": 1})").message, "`shm.workers`"));
  EXPECT_TRUE(contains(error_of(R"({"limit": {"host": {}}})").message, "`limits`"));
}

TEST(ConfigErrors, TellGroupsFromValues) {
  EXPECT_TRUE(contains(error_of(R"({"limits": 5})").message, "group of keys"));
  EXPECT_EQ(error_of(R"({"policy": {}})").key, "policy");
  EXPECT_EQ(error_of(R"({"policy": {}})").value, "{ … }");
}

TEST(ConfigErrors, AreAllFoundInOneGoInTheOrderOfTheFile) {
  const ConfigOutcome outcome =
      parse("{\"policy\": 1,\n\"nonsense\": 2,\n\"shm\": {\"workers\": 65},\n\"socket\": \"x\"}");
  ASSERT_EQ(outcome.errors.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(outcome.errors[i].line, i + 1);
}

TEST(ConfigErrors, GivenTwiceIsAnErrorAtTheSecondPlace) {
  ConfigError error = error_of("{\"policy\": \"fifo\",\n \"policy\": \"fifo\"}");
  EXPECT_EQ(error.key, "policy");
  EXPECT_EQ(error.line, 2u);
  EXPECT_EQ(error.column, 2u);
  error = error_of(R"({"limits": {"host": {"owners": 2000}, "host": {"bytes": "2GiB"}}})");
  EXPECT_EQ(error.key, "limits.host");
  error = error_of(R"({"shm": {"workers": 1}, "shm.workers": 1})");
  EXPECT_EQ(error.key, "shm.workers");
}

TEST(ConfigErrors, TrailingCommasAreCalledByTheirName) {
  EXPECT_EQ(error_of("{\"policy\": \"fifo\",\n}").message, "trailing comma");
  EXPECT_EQ(error_of("{\"policy\": \"fifo\", // , \"\n}").message, "trailing comma");
  EXPECT_EQ(error_of(R"({"sessions": {"allowed_uids": [1,]}})").message, "trailing comma");
  EXPECT_EQ(error_of("{\"policy\": \"fifo\",\n}").line, 2u);
  EXPECT_NE(error_of(R"({"policy": })").message, "trailing comma");
}

TEST(ConfigErrors, BrokenTextNeverPasses) {
  for (const char* text : {"{",
                           "}",
                           "[",
                           "[]",
                           "[1]",
                           "5",
                           "\"x\"",
                           "null",
                           "{]",
                           "{\"policy\"}",
                           "{\"policy\":}",
                           "{\"policy\": fifo}",
                           "{policy: 1}",
                           "{} {}",
                           "{}x",
                           "/*",
                           "{\"policy\": \"fifo\"",
                           "{\"\\ud800\": 1}",
                           "{\"a\": \"\n\"}",
                           "\xff\xfe",
                           "{\"sessions\": {\"allowed_uids\": [[1]]}}",
                           "{\"sessions\": {\"allowed_uids\": [{}]}}",
                           "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}"}) {
    const ConfigOutcome outcome = parse(text);
    EXPECT_FALSE(outcome.ok()) << text;
    ASSERT_FALSE(outcome.errors.empty()) << text;
    EXPECT_FALSE(outcome.errors.front().message.empty()) << text;
  }
}

TEST(ConfigErrors, LongValuesAreShortened) {
  const ConfigError error = error_of("{\"policy\": \"" + std::string(10'000, 'x') + "\"}");
  EXPECT_LT(error.value.size(), 100u);
}

TEST(ConfigRules, NameTheKeysThatContradict) {
  struct Case {
    const char* text;
    const char* key;
    const char* other;
  };
  for (const Case& c : {
           Case{R"({"limits": {"host": {"owners": 5}}})", "limits.internal_reserve.owners",
                "limits.host.owners"},
           Case{R"({"limits": {"host": {"bytes": "1MiB"}}})", "limits.internal_reserve.bytes",
                "limits.host.bytes"},
           Case{R"({"limits": {"host": {"extents": 3}}})", "limits.internal_reserve.extents",
                "limits.host.extents"},
           Case{R"({"limits": {"host": {"owners": 65537}}})", "limits.host.owners",
                "maxima.owners"},
           Case{R"({"sessions": {"most": 257}})", "sessions.most", "maxima.sessions"},
           Case{R"({"limits": {"largest_call_owners": 961}})", "limits.largest_call_owners",
                "sessions.ring_cells"},
           Case{R"({"sessions": {"slots": 959}})", "limits.largest_call_owners", "sessions.slots"},
           Case{R"({"sessions": {"regions": 32769}})", "sessions.regions", "sessions.host_regions"},
           Case{R"({"shm": {"window_bytes": "128KiB", "chunk_bytes": "256KiB"}})",
                "shm.chunk_bytes", "shm.window_bytes"},
           Case{R"({"shm": {"least_window_bytes": "8MiB"}})", "shm.least_window_bytes",
                "shm.window_bytes"},
           Case{R"({"shm": {"inline_turn_bytes": 100}})", "shm.inline_bytes",
                "shm.inline_turn_bytes"},
           Case{R"({"limits": {"retry_backoff_min": "1s"}})", "limits.retry_backoff_min",
                "limits.retry_backoff_max"},
           Case{R"({"classes": {"background": {"in_flight_bytes": 4095}}})",
                "classes.background.in_flight_bytes", "0 (no cap) or at least 4KiB"},
           Case{R"({"limits": {"client_in_flight_bytes": 1}})", "limits.client_in_flight_bytes",
                "0 (no cap) or at least 4KiB"},
           Case{R"({"admin_socket": "/run/tentq/tentqd.sock"})", "admin_socket", "socket"},
           Case{R"({"sessions": {"slots": 8192}})", "sessions.slots", "maxima.slots"},
           Case{R"({"maxima": {"slots": 65536},
                    "sessions": {"ring_cells": 16384, "slots": 65536, "most": 256,
                                 "arena_bytes": "8MiB"}})",
                "sessions.most", "fewer sessions"},
       }) {
    const ConfigError error = error_of(c.text);
    EXPECT_EQ(error.key, c.key) << c.text;
    EXPECT_TRUE(contains(error.expected, c.other)) << error.text();
  }
}

TEST(ConfigRules, BoundsHoldAtTheirEdges) {
  EXPECT_TRUE(parse(R"({"limits": {"host": {"owners": 1024}}})").ok());
  EXPECT_TRUE(parse(R"({"limits": {"host": {"owners": 65536}}})").ok());
  EXPECT_TRUE(parse(R"({"limits": {"largest_call_owners": 960}})").ok());
  EXPECT_TRUE(parse(R"({"sessions": {"most": 256}})").ok());
  EXPECT_TRUE(parse(R"({"sessions": {"slots": 960}})").ok());
  EXPECT_TRUE(parse(R"({"limits": {"client": {"owners": 0, "bytes": 0, "extents": 0}}})").ok());
  EXPECT_TRUE(parse(R"({"shm": {"window_bytes": "256KiB"}})").ok());
  EXPECT_TRUE(parse(R"({"shm": {"chunk_bytes": 0}})").ok());  // by the lane's rate
  EXPECT_FALSE(parse(R"({"shm": {"chunk_bytes": 65535}})").ok());
  EXPECT_TRUE(parse(R"({"shm": {"chunk_bytes": 65536}})").ok());
  EXPECT_TRUE(parse(R"({"shm": {"chunk_bytes": 1048576}})").ok());
  EXPECT_FALSE(parse(R"({"shm": {"chunk_bytes": 1048577}})").ok());
}

TEST(ConfigRules, TheErrorPointsAtTheLineOfTheKeyIfItIsGiven) {
  EXPECT_EQ(error_of("{\"sessions\": {\n\"most\": 300}}").line, 2u);
  EXPECT_EQ(error_of(R"({"limits": {"host": {"owners": 5}}})").line, 0u);
}

// What passes the check must also start: the core has the last word on limits.
TEST(ConfigRules, WhateverPassesMakesACore) {
  const Settings settings = settings_of(
      R"({"maxima": {"owners": 64, "sessions": 2, "clients": 2, "lanes": 2},
          "sessions": {"most": 2, "slots": 64},
          "limits": {"host": {"owners": 64}, "internal_reserve": {"owners": 64},
                     "largest_call_owners": 1}})");
  EXPECT_NO_THROW(core::Core(settings.limits, settings.maxima, settings.policy, 1));
}

TEST(ConfigFile, MissingAndUnreadableFilesAreToldApart) {
  const test::TempDirectory directory("tentq-config");
  ConfigOutcome outcome = load_settings(directory.file("none.json"));
  EXPECT_TRUE(outcome.missing);
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_TRUE(contains(outcome.errors[0].text(), "No such file"));
  outcome = load_settings(directory.path());
  EXPECT_FALSE(outcome.missing);
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_TRUE(contains(outcome.errors[0].text(), "directory"));
}

TEST(ConfigFile, IsReadAndBounded) {
  const test::TempDirectory directory("tentq-config");
  std::ofstream(directory.file("good.json")) << R"({"policy": "strict"})";
  const ConfigOutcome good = load_settings(directory.file("good.json"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.settings->policy, core::Policy::strict);
  std::ofstream(directory.file("huge.json")) << "{" << std::string(2u << 20, ' ') << "}";
  const ConfigOutcome huge = load_settings(directory.file("huge.json"));
  ASSERT_EQ(huge.errors.size(), 1u);
  EXPECT_EQ(huge.errors[0].message, "too large");
  EXPECT_TRUE(load_settings("/dev/null").ok());
}

TEST(ConfigReload, TakesWhatMayChangeAndRefusesTheRest) {
  const Settings running = settings_of("{}");
  const Settings wanted = settings_of(
      R"({"policy": "strict", "classes": {"foreground": {"weight": 7}}, "log_level": "debug",
          "socket": "/tmp/other.sock", "sessions": {"slots": 2048}})");
  const ReloadPlan plan = diff_for_reload(running, wanted);
  ASSERT_EQ(plan.changes.size(), 3u);
  EXPECT_EQ(plan.changes[1].key, "policy");
  EXPECT_EQ(plan.changes[1].from, "\"wdrr\"");
  EXPECT_EQ(plan.changes[1].to, "\"strict\"");
  ASSERT_EQ(plan.refused.size(), 2u);
  EXPECT_EQ(plan.refused[0].key, "socket");
  EXPECT_EQ(plan.refused[1].key, "sessions.slots");
  EXPECT_EQ(plan.result.policy, core::Policy::strict);
  EXPECT_EQ(plan.result.limits.classes[index_of(ClassId::foreground)].weight, 7u);
  EXPECT_EQ(plan.result.socket.path, kDefaultSocketPath);
  EXPECT_EQ(plan.result.sessions.slots, 4096u);
  EXPECT_TRUE(plan.errors.empty());
}

TEST(ConfigReload, AnUnchangedFileChangesNothing) {
  const ReloadPlan plan = diff_for_reload(Settings{}, settings_of("{}"));
  EXPECT_TRUE(plan.changes.empty());
  EXPECT_TRUE(plan.refused.empty());
}

// The new limits fit the new maxima, but these need a restart, so that the mixture would not fit.
TEST(ConfigReload, AContradictoryMixtureChangesNothing) {
  const Settings wanted = settings_of(
      R"({"maxima": {"owners": 100000}, "limits": {"host": {"owners": 100000}},
          "policy": "fifo"})");
  const ReloadPlan plan = diff_for_reload(Settings{}, wanted);
  ASSERT_EQ(plan.errors.size(), 1u);
  EXPECT_EQ(plan.errors[0].key, "limits.host.owners");
  EXPECT_TRUE(plan.changes.empty());
  EXPECT_EQ(print_settings(plan.result), print_settings(Settings{}));
}

StatusCode assign(const std::string& assignment, Settings* settings, std::string* why) {
  return apply_assignment(settings, assignment, why);
}

TEST(ConfigAssignment, ChangesOneKey) {
  Settings settings;
  std::string why;
  ConfigChange change;
  EXPECT_EQ(apply_assignment(&settings, "policy=strict", &why, &change), StatusCode::ok) << why;
  EXPECT_EQ(settings.policy, core::Policy::strict);
  EXPECT_EQ(change.key, "policy");
  EXPECT_EQ(assign("classes.foreground.weight=8", &settings, &why), StatusCode::ok) << why;
  EXPECT_EQ(settings.limits.classes[1].weight, 8u);
  EXPECT_EQ(assign("limits.client.bytes=1GiB", &settings, &why), StatusCode::ok) << why;
  EXPECT_EQ(assign("limits.client.bytes=1073741824", &settings, &why), StatusCode::ok) << why;
  EXPECT_EQ(settings.limits.client.bytes, 1u << 30);
  EXPECT_EQ(assign("sessions.allowed_uids=[1, 2]", &settings, &why), StatusCode::ok) << why;
  EXPECT_EQ(settings.sessions.allowed_uids.size(), 2u);
  EXPECT_EQ(assign("memory.allow_sparse=true", &settings, &why), StatusCode::ok) << why;
}

TEST(ConfigAssignment, RefusesWithoutChangingAnything) {
  const std::string before = print_settings(Settings{});
  for (const char* bad : {"", "policy", "=strict", "polcy=strict", "policy=", "policy=fair",
                          "policy=strict\", \"socket_mode\": \"0777", "limits=5",
                          "limits.host.owners=5", "limits.host.owners=65537", "shm.window_bytes=1",
                          "policy=strict, \"log_level\": \"debug\""}) {
    Settings settings;
    std::string why;
    EXPECT_EQ(assign(bad, &settings, &why), StatusCode::invalid_argument) << bad;
    EXPECT_FALSE(why.empty()) << bad;
    EXPECT_EQ(print_settings(settings), before) << bad;
  }
  Settings settings;
  std::string why;
  EXPECT_EQ(assign("socket=/tmp/x", &settings, &why), StatusCode::unsupported);
  EXPECT_TRUE(contains(why, "restart")) << why;
  EXPECT_EQ(print_settings(settings), before);
}

TEST(ConfigTable, EveryKeyIsDocumentedUniqueAndPrintsWhatItParses) {
  std::set<std::string> paths;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.doc.empty()) << key.path;
    EXPECT_EQ(key.doc.back(), '.') << key.path;
    EXPECT_FALSE(key.expected.empty()) << key.path;
    EXPECT_FALSE(is_config_section(key.path)) << key.path;
    EXPECT_EQ(nearest_key(key.path), key.path);
    EXPECT_EQ(find_config_key(key.path), &key);
  }
}

}  // namespace
}  // namespace tentq
