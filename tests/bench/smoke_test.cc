// Every command of tentq-bench on a private daemon, with counts so small that only the shape of the
// answer and the bytes are judged, never a speed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/statistics.h"
#include "tests/namespaces/namespaces.h"
#include "tests/support/temp_directory.h"

namespace tentq::bench {
namespace {

using nlohmann::json;

struct Answer {
  int exit_code = -1;
  std::string output;
};

Answer run(const std::string& arguments) {
  const std::string command =
      std::string(TENTQ_BENCH_PATH) + " " + arguments + " --tentqd " + TENTQ_TENTQD_PATH;
  Answer answer;
  FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return answer;
  char buffer[4096];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0) answer.output.append(buffer, got);
  const int status = ::pclose(pipe);
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return answer;
}

json figures(const std::string& arguments) {
  const Answer answer = run(arguments + " --json");
  EXPECT_EQ(answer.exit_code, 0) << answer.output;
  const json object = json::parse(answer.output, nullptr, false);
  EXPECT_TRUE(object.is_object()) << answer.output;
  return object.is_object() ? object : json::object();
}

void expect_numbers(const json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(object.contains(key)) << key << " in " << object.dump();
    EXPECT_TRUE(object[key].is_number()) << key;
  }
}

void expect_verdict(const json& object) {
  const std::string verdict = object.value("verdict", "none");
  EXPECT_TRUE(verdict == "pass" || verdict == "fail" || verdict == "inconclusive") << verdict;
}

TEST(BenchSmoke, Latency) {
  for (const std::string op : {"read", "write"}) {
    const json object =
        figures("latency --transport shm --size 4KiB --count 900 --bound 1000 --op " + op);
    expect_numbers(object, {"p50_us", "p99_us", "p999_us", "limit_p50_us", "ratio_p50"});
    EXPECT_GE(object.value("verified", 0), 900);
    EXPECT_EQ(object.value("errors", -1), 0);
    EXPECT_GT(object.value("p50_us", 0.0), 0);
    expect_verdict(object);
  }
}

TEST(BenchSmoke, Bandwidth) {
  const json object = figures(
      "bandwidth --transport shm --size 128KiB --depth 4 --clients 2 --bytes 2MiB --bound 0.0001");
  expect_numbers(object, {"gb_per_s", "limit_gb_per_s", "ratio"});
  EXPECT_GE(object.value("verified", 0), 2 * 4 * 9);
  EXPECT_EQ(object.value("errors", -1), 0);
  expect_verdict(object);
}

TEST(BenchSmoke, Submit) {
  const json object = figures("submit --clients 1 --batch 64 --owners 1000 --bound 1");
  expect_numbers(object, {"owners_per_s", "ring_limit_per_s", "ratio"});
  EXPECT_GE(object.value("verified", 0), 9000);
  EXPECT_EQ(object.value("errors", -1), 0);
  expect_verdict(object);
}

TEST(BenchSmoke, Core) {
  const json object = figures("core --owners 10000");
  for (const std::string key : {"ns_per_owner", "random_access_ns"}) {
    ASSERT_TRUE(object.contains(key)) << object.dump();
    expect_numbers(object[key], {"1000", "10000"});
  }
  EXPECT_EQ(object.value("allocations_after_start", -1), 0);
}

TEST(BenchSmoke, Idle) {
  const json object = figures("idle --seconds 0.2 --clients 3");
  expect_numbers(object, {"daemon_cpu_percent", "wakeups_per_s"});
  EXPECT_EQ(object.value("missed_wakeups", -1), 0);
}

class ConfigSmoke : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = directory_.file("keys.json");
    std::ofstream(path) << text;
    return "idle --seconds 0.1 --clients 1 --config " + path;
  }

 private:
  test::TempDirectory directory_{"tentq-bench-config"};
};

TEST_F(ConfigSmoke, ReachesThePrivateDaemonAndNoOther) {
  figures(write(R"({"loop": {"spin": "1us"}} // as in tentqd.json)"));
  EXPECT_NE(run(write(R"({"loop": {"spin": "fast"}})")).exit_code, 0) << "what it does not take";
  EXPECT_NE(run(write("[]")).exit_code, 0);
  EXPECT_NE(run(write("{}") + " --socket /nowhere").exit_code, 0);
}

class ReplaySmoke : public ::testing::Test {
 protected:
  // Conversations that grow by turns, all with block 0 first.
  void SetUp() override {
    constexpr std::uint64_t kSeed = 3;
    RecordProperty("seed", static_cast<int>(kSeed));
    Random random(kSeed);
    std::vector<std::vector<std::uint64_t>> conversations(8, {0});
    std::ofstream file(trace_);
    for (int i = 0; i < kRequests; ++i) {
      auto& blocks = conversations[random.below(conversations.size())];
      for (std::uint64_t n = 1 + random.below(6); n > 0; --n) blocks.push_back(next_block_++);
      if (blocks.size() > 40) blocks = {0, next_block_++};
      file << json{{"timestamp", i * 10}, {"input_length", 1}, {"hash_ids", blocks}}.dump() << '\n';
    }
  }
  json replay(const std::string& options) {
    return figures("replay --quiet --trace " + trace_ +
                   " --block 16KiB --engine-memory 4MiB --speedup 0 " + options);
  }
  static void expect_all_right(const json& object) {
    expect_numbers(object,
                   {"requests", "blocks_read", "blocks_written", "blocks_read_vs_lru", "retries",
                    "bytes", "verify_errors", "rejected", "fg_p50_us", "fg_p99_us", "gb_per_s"});
    EXPECT_EQ(object.value("requests", 0), kRequests);
    EXPECT_EQ(object.value("verify_errors", -1), 0);
    EXPECT_EQ(object.value("lost", -1), 0);
    EXPECT_EQ(object.value("outstanding_owners", -1), 0);
    EXPECT_EQ(object.value("outstanding_bytes", -1), 0);
    EXPECT_GT(object.value("blocks_read", 0), 0);
  }

  static constexpr int kRequests = 300;
  test::TempDirectory directory_{"tentq-bench-smoke"};
  const std::string trace_ = directory_.file("trace.jsonl");
  std::uint64_t next_block_ = 1;
};

TEST_F(ReplaySmoke, ServesWhatAnExactLruServes) {
  const json object = replay("--stores 2 --engines 2 --store-memory 64MiB");
  expect_all_right(object);
  EXPECT_GE(object.value("blocks_read_vs_lru", 0.0), 0.95);
}

TEST_F(ReplaySmoke, EvictsWithoutHarmToWhatIsRead) {
  const json object = replay("--stores 3 --engines 2 --store-memory 3MiB --policy strict");
  expect_all_right(object);
}

TEST_F(ReplaySmoke, SurvivesItsDaemonsDeath) {
  const json object = replay("--stores 2 --engines 1 --store-memory 64MiB --kill-daemon 2");
  expect_all_right(object);
  EXPECT_EQ(object.value("daemon_kills", 0), 2);
}

TEST_F(ReplaySmoke, GoesOnBesideAFlood) {
  const json object = replay("--stores 1 --engines 1 --store-memory 64MiB --flood 64MiB");
  expect_all_right(object);
  EXPECT_GT(object.value("flood_bytes", std::int64_t{-1}), 0);
}

TEST_F(ReplaySmoke, GoesBetweenHostsWhileTheirDaemonsDie) {
  const json object = replay(
      "--stores 2 --engines 2 --store-memory 64MiB --transport tcp --kill-daemon 1 "
      "--kill-store-daemon 1");
  expect_all_right(object);
  EXPECT_EQ(object.value("store_daemon_kills", 0), 1);
}

TEST_F(ReplaySmoke, FailsWhatADeadStoreHeldAndNothingElse) {
  const json object = replay(
      "--stores 2 --engines 2 --store-memory 64MiB --transport tcp "
      "--kill-store 1 2>/dev/null");
  EXPECT_EQ(object.value("requests", 0), kRequests);
  EXPECT_EQ(object.value("verify_errors", -1), 0);
  EXPECT_EQ(object.value("outstanding_owners", -1), 0);
  ASSERT_TRUE(object.contains("reasons")) << object.dump();
  EXPECT_EQ(object.value("lost", -1), object["reasons"].value("peer_lost", 0)) << object.dump();
}

#define NAMESPACES_OR_SKIP() \
  if (const std::string lacks = test::Namespaces::missing(); !lacks.empty()) GTEST_SKIP() << lacks

TEST_F(ReplaySmoke, LivesThroughACutLink) {
  NAMESPACES_OR_SKIP();
  const json object = replay(
      "--stores 2 --engines 2 --store-memory 64MiB --transport tcp --namespaces --cut-link "
      "700ms");
  expect_all_right(object);
  EXPECT_GE(object.value("seconds", 0.0), 0.7);
}

TEST(BenchSmoke, MeasuresBetweenNamespaces) {
  NAMESPACES_OR_SKIP();
  for (const std::string what :
       {"latency --size 4KiB --count 180 --bound 1000",
        "bandwidth --size 128KiB --depth 4 --bytes 1MiB --bound 0.0001 --link-rate 200MB"}) {
    const json object = figures(what + " --transport tcp --namespaces");
    EXPECT_EQ(object.value("errors", -1), 0);
    EXPECT_EQ(object.value("namespaces", false), true);
    expect_verdict(object);
  }
}

TEST(BenchSmoke, TwoHostsFloodEachOther) {
  const json object = figures("mutual --size 64KiB --depth 8 --seconds 0.05 --bound 0.0001");
  expect_numbers(object, {"gb_per_s", "limit_gb_per_s", "ratio", "longest_gap_ms"});
  EXPECT_EQ(object.value("errors", -1), 0);
  EXPECT_EQ(object.value("flows", 0), 4);
  expect_verdict(object);
}

TEST(BenchSmoke, ForegroundAndBackgroundShareALink) {
  NAMESPACES_OR_SKIP();
  const json object = figures("shared-link --seconds 0.1 --bound 1000");
  expect_numbers(object, {"fg_p99_us", "limit_fg_p99_us", "ratio", "gb_per_s"});
  EXPECT_EQ(object.value("errors", -1), 0);
  EXPECT_GT(object.value("samples", 0), 100);
  expect_verdict(object);
}

TEST_F(ReplaySmoke, RefusesABadTraceWithItsLine) {
  std::ofstream(trace_, std::ios::app) << "nonsense\n";
  const Answer answer = run("replay --json --trace " + trace_ + " 2>&1");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_NE(answer.output.find(":301: not JSON"), std::string::npos) << answer.output;
}

constexpr char kSmallQos[] =
    "qos --quiet --flood 8MiB --owner 1MiB --flood-clients 2 --foreground-clients 2 ";

TEST(BenchSmoke, QosComparesThePolicies) {
  const json object =
      figures(std::string(kSmallQos) +
              "--policy all --part policies,small --samples 80 --arrivals fixed --lane paced");
  ASSERT_TRUE(object.contains("policies")) << object.dump();
  for (const std::string policy : {"direct", "fifo", "strict", "strict_64MiB", "wdrr"}) {
    ASSERT_TRUE(object["policies"].contains(policy)) << policy;
    const json& one = object["policies"][policy];
    expect_numbers(one, {"fg_p50_us", "fg_p99_us", "fg_slowdown_p99", "total_gb_per_s",
                         "utilisation_vs_direct", "jain", "isolation_leakage"});
    EXPECT_EQ(one.value("fg_samples", 0), 80);
    // The time of 256 KiB on the link: no policy can be faster.
    EXPECT_GE(one.value("fg_p50_us", 0.0), 262'144 / 500.0);
  }
  expect_numbers(object["alone"], {"fg_p50_us", "fg_p99_us"});
  expect_numbers(object["small"], {"fg_p50_us", "fg_p99_us", "bound_us", "within_bound"});
  EXPECT_EQ(object.value("errors", -1), 0);
  for (const auto& [name, verdict] : object["verdicts"].items()) {
    EXPECT_TRUE(verdict.contains("figure") && verdict.contains("goal") && verdict.contains("pass"))
        << name;
  }
}

TEST(BenchSmoke, QosMeasuresSharesAndADeath) {
  const json object =
      figures(std::string(kSmallQos) + "--part shares,death --seconds 0.1 --rate 2GiB");
  ASSERT_TRUE(object.contains("verdicts")) << object.dump();
  for (const char* name :
       {"jain_equal", "jain_all_foreground", "jain_weighted", "one_all_foreground_vs_share",
        "many_sessions_vs_share", "lowest_class_vs_rate", "charges_back_ms"}) {
    EXPECT_TRUE(object["verdicts"].contains(name)) << name;
  }
  EXPECT_EQ(object["charges_back_ms"].size(), 3u);
  EXPECT_EQ(object.value("errors", -1), 0);
}

TEST(BenchSmoke, QosMeasuresTheRateOfALaneThatIsNotPaced) {
  const json object =
      figures(std::string(kSmallQos) + "--policy wdrr --part policies --samples 80 --lane shm");
  EXPECT_GT(object.value("rate_bytes_per_s", std::int64_t{0}), 0);
  EXPECT_TRUE(object["policies"].contains("wdrr"));
  EXPECT_FALSE(object["policies"].contains("direct"));
  EXPECT_TRUE(object["verdicts"]["total_vs_direct"]["pass"].is_null());
  EXPECT_EQ(object.value("errors", -1), 0);
}

TEST(BenchSmoke, BadUsageEndsWithTwo) {
  EXPECT_EQ(run("qos --policy lifo 2>&1").exit_code, 2);
  EXPECT_EQ(run("qos --size 1MiB --owner 64KiB 2>&1").exit_code, 2);
  EXPECT_EQ(run("qos --socket /nonexistent 2>&1").exit_code, 2);
  EXPECT_EQ(run("qos --samples 1000000 2>&1").exit_code, 2);
  EXPECT_EQ(run("latency --size 3 2>&1").exit_code, 2);
  EXPECT_EQ(run("latency --size 12 2>&1").exit_code, 2);
  EXPECT_EQ(run("nonsense 2>&1").exit_code, 2);
  EXPECT_EQ(run("replay --trace /nonexistent 2>&1").exit_code, 2);
  EXPECT_EQ(run("replay --trace /dev/null --cut-link 2 2>&1").exit_code, 2);
  EXPECT_EQ(run("latency --namespaces 2>&1").exit_code, 1);
}

}  // namespace
}  // namespace tentq::bench
