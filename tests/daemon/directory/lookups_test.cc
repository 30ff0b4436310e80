// One look-up after the other, none for ever.
#include "daemon/directory/lookups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tentq::directory {
namespace {

using namespace std::chrono_literals;

const Failed kAway{Fault::unreachable, "", "refused"};

class DirectoryLookups : public ::testing::Test {
 protected:
  void add(const std::string& name, Duration within = 2s) {
    lookups.add(name, now + within, [this, name](const Answer& answer) {
      const auto* failure = std::get_if<Failed>(&answer);
      heard.push_back(name + (failure == nullptr ? " found" : " " + failure->text));
    });
  }
  std::string asked() {
    const auto call = lookups.next();
    return call ? std::get<FindName>(*call).name : "";
  }

  Time now = time_from_ns(1'000'000'000);
  std::vector<std::string> heard;
  Lookups lookups{2};
};

TEST_F(DirectoryLookups, OneAtATimeInTheirOrder) {
  add("a");
  add("b");
  EXPECT_EQ(asked(), "a");
  EXPECT_EQ(asked(), "");
  lookups.answered(Found{});
  EXPECT_EQ(asked(), "b");
  lookups.answered(Found{});
  EXPECT_EQ(heard, (std::vector<std::string>{"a found", "b found"}));
  EXPECT_EQ(lookups.next_deadline(), kNever);
}

TEST_F(DirectoryLookups, EachIsAskedAsOftenAsItMayFail) {
  add("a");
  asked();
  lookups.answered(kAway);
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(asked(), "a");
  lookups.answered(kAway);
  EXPECT_EQ(heard, std::vector<std::string>{"a refused"});
}

TEST_F(DirectoryLookups, NoneWaitsLongerThanItsTime) {
  add("a", 1s);
  add("b", 2s);
  asked();
  EXPECT_EQ(lookups.next_deadline(), now + 1s);
  lookups.expire(now + 1s);
  EXPECT_EQ(heard, std::vector<std::string>{"a no answer in time"});
  // The late answer is nobody's.
  lookups.answered(Found{});
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_EQ(asked(), "b");
}

TEST_F(DirectoryLookups, TheyAreBounded) {
  for (std::size_t i = 0; i < Lookups::kMost - 1; ++i) add("a");
  EXPECT_FALSE(lookups.full());
  add("a");
  EXPECT_TRUE(lookups.full());
  lookups.expire(now + 2s);
  EXPECT_EQ(heard.size(), Lookups::kMost);
  EXPECT_FALSE(lookups.full());
}

}  // namespace
}  // namespace tentq::directory
