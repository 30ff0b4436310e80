// Questions about regions: each gets one answer, whatever the other host does.
#include "daemon/hosts/listings.h"

#include <gtest/gtest.h>

namespace tentq {
namespace {

constexpr LinkKey kLink{1};
constexpr LinkKey kOther{2};

class ListingsTest : public ::testing::Test {
 protected:
  void ask(LinkKey link, std::uint64_t request, std::int64_t give_up_ns = 100) {
    listings.add(link, request, time_from_ns(give_up_ns),
                 [this](const PeerRegions& answer) { answers.push_back(answer.status); });
  }
  Listings listings;
  std::vector<StatusCode> answers;
};

TEST_F(ListingsTest, AreAnsweredOnceByTheirOwnLink) {
  ask(kLink, 7);
  PeerRegions message;
  message.header.request = 7;
  listings.answered(kOther, message);
  EXPECT_TRUE(answers.empty());
  listings.answered(kLink, message);
  listings.answered(kLink, message);
  EXPECT_EQ(answers, std::vector{StatusCode::ok});
}

TEST_F(ListingsTest, OfASilentHostEndAtTheirTime) {
  ask(kLink, 1, 100);
  ask(kLink, 2, 200);
  listings.expire(time_from_ns(99));
  EXPECT_TRUE(answers.empty());
  listings.expire(time_from_ns(100));
  EXPECT_EQ(answers, std::vector{StatusCode::no_route});
  EXPECT_EQ(listings.waiting(), 1u);
}

TEST_F(ListingsTest, EndWithTheirLink) {
  ask(kLink, 1);
  ask(kOther, 1);
  listings.link_down(kLink);
  EXPECT_EQ(answers, std::vector{StatusCode::no_route});
  EXPECT_EQ(listings.waiting(), 1u);
}

TEST_F(ListingsTest, AreBounded) {
  for (std::uint64_t request = 1; request < Listings::kMost; ++request) ask(kLink, request);
  EXPECT_FALSE(listings.full());
  ask(kLink, Listings::kMost);
  EXPECT_TRUE(listings.full());
}

// Whoever hears that there is no way may ask again at once.
TEST_F(ListingsTest, MayBeAskedForFromAnAnswer) {
  listings.add(kLink, 1, time_from_ns(100), [this](const PeerRegions&) { ask(kLink, 2); });
  listings.link_down(kLink);
  EXPECT_EQ(listings.waiting(), 1u);
}

}  // namespace
}  // namespace tentq
