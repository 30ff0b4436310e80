// What the trace reader takes, and how it complains.
#include "tests/bench/replay/trace.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

namespace tentq::bench {
namespace {

std::vector<TraceRequest> read(const std::string& text, std::uint64_t most = 0) {
  std::istringstream in(text);
  return read_trace(in, "t.jsonl", most);
}

std::string complaint(const std::string& text) {
  try {
    read(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

constexpr char kGood[] =
    R"({"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]})"
    "\n\n"
    R"({"timestamp": 27, "hash_ids": [0, 7, 7, 0]})"
    "\n"
    R"({"timestamp": 27.6, "hash_ids": []})";

TEST(Trace, TakesThePublishedForm) {
  const auto trace = read(kGood);
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace[0].timestamp_ms, 0u);
  EXPECT_EQ(trace[0].blocks, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(trace[1].timestamp_ms, 27u);
  EXPECT_EQ(trace[1].blocks, (std::vector<std::uint64_t>{0, 7}));
  EXPECT_EQ(trace[2].timestamp_ms, 28u);
  EXPECT_TRUE(trace[2].blocks.empty());
}

TEST(Trace, TakesOnlyAsManyAsAsked) {
  EXPECT_EQ(read(kGood, 2).size(), 2u);
}

TEST(Trace, NamesTheLineThatIsWrong) {
  const std::string good = R"({"timestamp": 5, "hash_ids": [1]})"
                           "\n";
  EXPECT_EQ(complaint(good + "{\"timestamp\": 6"), "t.jsonl:2: not JSON (byte 16)");
  EXPECT_EQ(complaint(good + "[1]"), "t.jsonl:2: not a JSON object");
  EXPECT_EQ(complaint(good + good + R"({"hash_ids": [1]})"),
            "t.jsonl:3: `timestamp` must be a number of milliseconds");
  EXPECT_EQ(complaint(R"({"timestamp": -1, "hash_ids": [1]})"),
            "t.jsonl:1: `timestamp` must not be negative: -1");
  EXPECT_EQ(complaint(good + R"({"timestamp": 4, "hash_ids": [1]})"),
            "t.jsonl:2: `timestamp` is earlier than the line before");
  EXPECT_EQ(complaint(R"({"timestamp": 1})"), "t.jsonl:1: `hash_ids` must be a list of block ids");
  EXPECT_EQ(complaint(R"({"timestamp": 1, "hash_ids": [1, -2]})"),
            "t.jsonl:1: a block id must be a whole number from 0: -2");
  EXPECT_EQ(complaint(R"({"timestamp": 1, "hash_ids": ["a"]})"),
            "t.jsonl:1: a block id must be a whole number from 0: \"a\"");
}

TEST(Trace, RefusesAnEmptyOne) {
  EXPECT_EQ(complaint("\n \n"), "t.jsonl: holds no request");
  EXPECT_THROW(read_trace_file("/nonexistent/trace.jsonl", 0), std::runtime_error);
}

}  // namespace
}  // namespace tentq::bench
