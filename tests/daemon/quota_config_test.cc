// Quotas of the configuration: what is read, what is refused with which remedy, and whom each is
// for.
#include "daemon/config/quotas.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "daemon/config/config.h"
#include "proto/session_layout.h"

namespace tentq {
namespace {

ConfigOutcome parse(const std::string& quotas) {
  return parse_settings("{\"quotas\": " + quotas + "}", "test.json");
}
std::vector<Quota> quotas_of(const std::string& text) {
  const ConfigOutcome outcome = parse(text);
  for (const ConfigError& error : outcome.errors) ADD_FAILURE() << error.text();
  return outcome.ok() ? outcome.settings->quotas : std::vector<Quota>{};
}
ConfigError error_of(const std::string& text) {
  const ConfigOutcome outcome = parse(text);
  EXPECT_EQ(outcome.errors.size(), 1u) << text;
  return outcome.errors.empty() ? ConfigError{} : outcome.errors.front();
}
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(QuotaConfig, ReadsEveryKey) {
  const std::vector<Quota> quotas = quotas_of(
      R"([ // the flood
          {"client": "prefetch-*", "highest_class": "prefetch", "over": "downgrade", "weight": 3,
           "owners": 100, "bytes": "1GiB", "in_flight_bytes": 65536, "pinned_bytes": "64GiB",
           "per": "user"},
          {"uid": 1000}, {"group": 7, "uid": "root", "client": "a"}, {"client": "*"}])");
  ASSERT_EQ(quotas.size(), 4u);
  const Quota& first = quotas[0];
  EXPECT_EQ(first.client, "prefetch-*");
  EXPECT_EQ(first.highest_class, ClassId::prefetch);
  EXPECT_EQ(first.over, OverClass::downgrade);
  EXPECT_EQ(first.weight, 3u);
  EXPECT_EQ(first.owners, 100u);
  EXPECT_EQ(first.bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(first.in_flight_bytes, 65536u);
  EXPECT_EQ(first.pinned_bytes, std::uint64_t{64} << 30);
  EXPECT_EQ(first.per, QuotaPer::user);
  EXPECT_EQ(quotas[1].uid, 1000u);
  EXPECT_FALSE(quotas[1].owners || quotas[1].bytes || quotas[1].in_flight_bytes);
  EXPECT_EQ(quotas[1].highest_class, ClassId::foreground);
  EXPECT_EQ(quotas[2].uid, 0u);
  EXPECT_EQ(quotas[2].gid, 7u);
  EXPECT_EQ(quota_name(first), "client:prefetch-*");
  EXPECT_EQ(quota_name(quotas[2]), "client:a uid:root group:7");
}

TEST(QuotaConfig, TakesIntentsForClasses) {
  const auto highest = [](const std::string& name) {
    return quotas_of(R"([{"uid": 1, "highest_class": ")" + name + "\"}]")[0].highest_class;
  };
  EXPECT_EQ(highest("background_prefetch"), ClassId::prefetch);
  EXPECT_EQ(highest("BACKGROUND_PREFETCH"), ClassId::prefetch);
  EXPECT_EQ(highest("weight-loading"), ClassId::standard);
  EXPECT_EQ(highest("checkpoint"), ClassId::background);
  const ConfigError error = error_of(R"([{"uid": 1, "highest_class": "urgent"}])");
  EXPECT_EQ(error.key, "quotas[0].highest_class");
  EXPECT_TRUE(contains(error.expected, "foreground_get")) << error.text();
}

TEST(QuotaConfig, BadValuesNameTheEntryThePlaceAndWhatWasExpected) {
  struct Case {
    const char* member;
    const char* key;
    const char* words;
  };
  const Case cases[] = {
      {R"("wieght": 2)", "wieght", "`weight`"},
      {R"("name": "x")", "name", "nearest known key"},
      {R"("weight": 0)", "weight", "from 1"},
      {R"("weight": 10001)", "weight", "to 10000"},
      {R"("weight": "2")", "weight", "number"},
      {R"("owners": -1)", "owners", "number"},
      {R"("bytes": "1GB")", "bytes", "64MiB"},
      {R"("in_flight_bytes": 4095)", "in_flight_bytes", "4KiB"},
      {R"("in_flight_bytes": 0)", "in_flight_bytes", "4KiB"},
      {R"("pinned_bytes": true)", "pinned_bytes", "size"},
      {R"("over": "drop")", "over", "downgrade"},
      {R"("per": "host")", "per", "cgroup"},
      {R"("highest_class": "internal")", "highest_class", "foreground"},
      {R"("highest_class": 1)", "highest_class", "foreground"},
      {R"("client": "")", "client", "beginning"},
      {R"("client": "a*b")", "client", "beginning"},
      {R"("client": "a b")", "client", "beginning"},
      {R"("client": "**")", "client", "beginning"},
      {R"("uid": -1)", "uid", "user of this host"},
      {R"("uid": 4294967295)", "uid", "user of this host"},
      {R"("uid": "no-such-user-here")", "uid", "getent passwd"},
      {R"("group": "no-such-group-here")", "group", "getent group"},
      {R"("group": null)", "group", "gid"},
  };
  for (const Case& each : cases) {
    const ConfigError error = error_of("[\n {" + std::string(each.member) + "}]");
    EXPECT_EQ(error.key, std::string("quotas[0].") + each.key) << each.member;
    EXPECT_EQ(error.line, 2u) << each.member;
    EXPECT_TRUE(contains(error.text(), each.words)) << error.text();
  }
}

TEST(QuotaConfig, IsAListOfObjectsOfPlainValues) {
  EXPECT_TRUE(quotas_of("[]").empty());
  for (const char* text : {"5", "true", "\"x\"", "[5]", "[\"x\"]", "[{\"uid\": 1}, 5]",
                           "[5, {\"uid\": 1}]", "[null]"}) {
    const ConfigError error = error_of(text);
    EXPECT_EQ(error.key, "quotas") << text;
    EXPECT_TRUE(contains(error.expected, "a list like")) << error.text();
  }
  for (const char* text : {"{}", "[[{\"uid\": 1}]]", "[{\"uid\": [1]}]", "[{\"uid\": {\"a\": 1}}]",
                           "[{\"uid\": 1,}]", "[{\"uid\"}]", "[{\"uid\": 1]"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
  const ConfigError twice = error_of(R"([{"uid": 1}, {"uid": 2, "uid": 3}])");
  EXPECT_EQ(twice.key, "quotas[1].uid");
  EXPECT_EQ(twice.message, "given twice");
}

TEST(QuotaConfig, EntriesThatCannotCountAreRefusedWithWhatToDo) {
  const auto says = [](const std::string& text, const char* key, std::string_view words) {
    const ConfigError error = error_of(text);
    EXPECT_EQ(error.key, key) << text;
    EXPECT_TRUE(contains(error.text(), words)) << error.text();
  };
  says("[{\"weight\": 2}]", "quotas[0]", "give `client`, `uid` or `group`");
  says("[{\"uid\": 1}, {\"uid\": 1, \"weight\": 2}]", "quotas[1]", "put both into one entry");
  says("[{\"uid\": 0}, {\"uid\": \"root\"}]", "quotas[1]", "put both into one entry");
  says("[{\"client\": \"a*\"}, {\"client\": \"ab\"}]", "quotas[1]", "move this one before it");
  says("[{\"client\": \"*\"}, {\"client\": \"ab*\", \"uid\": 1}]", "quotas[1]", "never counts");
  says("[{\"client\": \"*\"}, {\"uid\": 1}]", "quotas[1]", "never counts");
  says("[{\"uid\": 1}, {\"client\": \"x\", \"uid\": 1}]", "quotas[1]", "never counts");
  says("[{\"uid\": 1, \"over\": \"reject\"}]", "quotas[0]", "no effect");
  EXPECT_EQ(quotas_of("[{\"client\": \"ab\"}, {\"client\": \"a*\"}, {\"client\": \"*\"}]").size(),
            3u);
  EXPECT_EQ(
      quotas_of("[{\"client\": \"x\", \"uid\": 1}, {\"client\": \"x\"}, {\"uid\": 1}]").size(), 3u);
}

TEST(QuotaConfig, ThereIsAMostOfThem) {
  const auto many = [](std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ",") + std::string("{\"uid\": ") + std::to_string(i) + "}";
    }
    return text + "]";
  };
  EXPECT_EQ(quotas_of(many(kMostQuotas)).size(), kMostQuotas);
  EXPECT_EQ(error_of(many(kMostQuotas + 1)).key, "quotas");
}

TEST(QuotaConfig, ANameIsNeverLongerThanItsField) {
  Quota quota;
  quota.client = std::string(63, 'n') + '*';
  quota.uid = 0xffff'fffeu;
  quota.group = std::string(32, 'g');
  quota.gid = 1;
  EXPECT_LE(quota_name(quota).size(), kMostQuotaNameBytes);
}

TEST(QuotaConfig, OthersListsDoNotTakeObjects) {
  EXPECT_FALSE(parse_settings(R"({"sessions": {"allowed_uids": [{"uid": 1}]}})", "f").ok());
  EXPECT_FALSE(parse_settings(R"({"sessions": {"allowed_uids": [[1]]}})", "f").ok());
}

TEST(QuotaConfig, CanBeSetAndReloadedAsAWhole) {
  Settings settings;
  std::string why;
  ConfigChange change;
  EXPECT_EQ(apply_assignment(&settings, R"(quotas=[{"uid": 5, "weight": 2}])", &why, &change),
            StatusCode::ok)
      << why;
  EXPECT_EQ(settings.quotas.size(), 1u);
  EXPECT_EQ(change.to, R"([ {"uid": 5, "weight": 2} ])");
  EXPECT_EQ(apply_assignment(&settings, R"(quotas=[{"uid": 5, "weight": 0}])", &why),
            StatusCode::invalid_argument);
  EXPECT_TRUE(contains(why, "quotas[0].weight")) << why;
  EXPECT_EQ(settings.quotas[0].weight, 2u);
  const ReloadPlan plan = diff_for_reload(settings, Settings{});
  ASSERT_EQ(plan.changes.size(), 1u);
  EXPECT_EQ(plan.changes[0].key, "quotas");
  EXPECT_TRUE(plan.result.quotas.empty());
}

Quota random_quota() {
  const auto maybe = [](std::uint64_t low) -> std::optional<std::uint64_t> {
    if (*rc::gen::arbitrary<bool>()) return std::nullopt;
    return *rc::gen::inRange<std::uint64_t>(low, 1u << 24);
  };
  Quota quota;
  quota.client = *rc::gen::elementOf(std::vector<std::string>{"", "a", "a*", "store-1", "*"});
  if (*rc::gen::arbitrary<bool>()) quota.uid = *rc::gen::inRange<std::uint32_t>(0, 5);
  if (*rc::gen::arbitrary<bool>()) quota.gid = *rc::gen::inRange<std::uint32_t>(0, 5);
  quota.per = static_cast<QuotaPer>(*rc::gen::inRange(0, 3));
  quota.highest_class = static_cast<ClassId>(*rc::gen::inRange(1, 5));
  if (quota.highest_class != ClassId::foreground) {
    quota.over = static_cast<OverClass>(*rc::gen::inRange(0, 2));
  }
  quota.weight = *rc::gen::inRange<std::uint32_t>(1, 10'001);
  quota.owners = maybe(0);
  quota.bytes = maybe(0);
  quota.in_flight_bytes = maybe(4096);
  quota.pinned_bytes = maybe(0);
  return quota;
}

RC_GTEST_PROP(QuotaProperty, WhatIsPrintedParsesToTheSame, ()) {
  Settings settings;
  const auto count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) settings.quotas.push_back(random_quota());
  const ConfigOutcome outcome = parse_settings(print_settings(settings), "printed");
  RC_TAG(outcome.ok() ? "taken" : "refused");
  if (outcome.ok()) {
    RC_ASSERT(outcome.settings->quotas == settings.quotas);
  } else {
    for (const ConfigError& error : outcome.errors) {
      RC_ASSERT(error.key.starts_with("quotas["));
      RC_ASSERT(contains(error.message, "put both") || contains(error.message, "never counts") ||
                contains(error.message, "whom it is for"));
    }
  }
}

// --- whom they are for
// ----------------------------------------------------------------------------

TEST(QuotaMatch, TheFirstWhoseConditionsAllHoldCounts) {
  const std::vector<Quota> quotas =
      quotas_of(R"([{"client": "store-*", "uid": 1000}, {"group": 50}, {"client": "store-0"},
                    {"client": "store-*"}])");
  const auto match = [&](std::string_view name, std::uint32_t uid,
                         std::vector<std::uint32_t> groups) {
    const Quota* quota = quota_of(quotas, name, uid, groups);
    return quota == nullptr ? std::string("none") : quota_name(*quota);
  };
  EXPECT_EQ(match("store-0", 1000, {1000}), "client:store-* uid:1000");
  EXPECT_EQ(match("store-0", 1001, {1000}), "client:store-0");
  EXPECT_EQ(match("store-1", 1001, {1000}), "client:store-*");
  EXPECT_EQ(match("store-", 1001, {}), "client:store-*");
  EXPECT_EQ(match("store", 1001, {}), "none");
  EXPECT_EQ(match("store-1", 1001, {7, 50}), "group:50");
  EXPECT_EQ(match("", 1000, {1000}), "none");
  EXPECT_EQ(match("", 5, {50}), "group:50");
}

TEST(QuotaMatch, AStarAloneIsForTheAnonymousToo) {
  const std::vector<Quota> quotas = quotas_of(R"([{"client": "*"}])");
  EXPECT_NE(quota_of(quotas, "", 0, {}), nullptr);
  EXPECT_NE(quota_of(quotas, "x", 0, {}), nullptr);
}

TEST(QuotaClasses, AreThoseAtOrBelowTheHighest) {
  Quota quota;
  std::uint32_t downgraded = 7;
  EXPECT_EQ(granted_classes(nullptr, kClientClassMask, &downgraded), kClientClassMask);
  EXPECT_EQ(granted_classes(&quota, ~0u, &downgraded), kClientClassMask);
  EXPECT_EQ(downgraded, 0u);
  quota.highest_class = ClassId::prefetch;
  const std::uint32_t low = bit_of(ClassId::prefetch) | bit_of(ClassId::background);
  EXPECT_EQ(granted_classes(&quota, kClientClassMask, &downgraded), low);
  EXPECT_EQ(granted_classes(&quota, bit_of(ClassId::foreground), &downgraded), 0u);
  EXPECT_EQ(downgraded, 0u);
  quota.over = OverClass::downgrade;
  EXPECT_EQ(granted_classes(&quota, kClientClassMask, &downgraded), low);
  EXPECT_EQ(downgraded, bit_of(ClassId::foreground) | bit_of(ClassId::standard));
  EXPECT_EQ(granted_classes(&quota, bit_of(ClassId::foreground), &downgraded),
            bit_of(ClassId::prefetch));
  EXPECT_EQ(granted_classes(&quota, bit_of(ClassId::background), &downgraded),
            bit_of(ClassId::background));
  EXPECT_EQ(downgraded, 0u);
}

TEST(Intents, EachHasItsClassAndNoNameIsBothAClassAndAnIntent) {
  for (const Intent& intent : kIntents) {
    EXPECT_EQ(class_named(intent.name), intent.cls) << intent.name;
    EXPECT_TRUE(contains(std::string(kClassWords), intent.name)) << intent.name;
    for (const std::string_view name : kClassNames) EXPECT_NE(intent.name, name);
  }
  for (const std::string_view name : {"", "internal", "foreground ", "get", "kForegroundGet"}) {
    EXPECT_FALSE(class_named(name)) << name;
  }
  EXPECT_EQ(class_named("Default"), ClassId::standard);
}

}  // namespace
}  // namespace tentq
