// Handles of other hosts' segments over the life of their links.
#include <gtest/gtest.h>

#include <vector>

#include "daemon/hosts/remote_segments.h"

namespace tentq {
namespace {

using namespace std::chrono_literals;

constexpr LinkKey kLink{1};
constexpr LinkKey kNext{2};
const Time kStart = time_from_ns(1'000'000'000);

class RemoteSegmentsTest : public ::testing::Test {
 protected:
  struct Asked {
    LinkKey link;
    PeerOpenSegment message;
  };
  void open(LinkKey link, std::uint64_t incarnation = 0) {
    segments.open(
        "node-7", "store-1", incarnation, link, kStart + 5s,
        [this](const RemoteSegmentPtr& segment, StatusCode status, const std::string& text) {
          opened = segment;
          statuses.push_back(status);
          last_text = text;
        });
  }
  void answer(LinkKey link, StatusCode status, std::uint64_t wire = 40,
              std::uint64_t incarnation = 9) {
    PeerSegment message;
    message.header.request = asked.back().message.header.request;
    message.status = status;
    message.segment = wire;
    message.incarnation = incarnation;
    message.regions = 3;
    segments.answered(link, message);
  }

  bool link_works = true;
  std::vector<Asked> asked;
  std::vector<std::uint64_t> closed;
  std::vector<std::string> unused;
  std::vector<StatusCode> statuses;
  std::string last_text;
  RemoteSegmentPtr opened;
  int changes = 0;
  RemoteSegments segments{
      [this](LinkKey link, const PeerOpenSegment& message) {
        if (link_works) asked.push_back({link, message});
        return link_works;
      },
      [this](LinkKey, const PeerCloseSegment& message) { closed.push_back(message.segment); },
      [this] { ++changes; }, [this](const std::string& address) { unused.push_back(address); }};
};

TEST_F(RemoteSegmentsTest, OpensOverTheLinkThatIsThere) {
  open(kLink);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].message.name.view(), "store-1");
  answer(kLink, StatusCode::ok);
  ASSERT_EQ(statuses, std::vector{StatusCode::ok});
  EXPECT_EQ(opened->state, RemoteState::open);
  EXPECT_EQ(opened->wire, 40u);
  EXPECT_EQ(opened->regions, 3u);
  EXPECT_EQ(changes, 1);
}

TEST_F(RemoteSegmentsTest, WaitsForALinkAndThenForItsAnswer) {
  open(LinkKey{});
  EXPECT_TRUE(asked.empty());
  segments.link_up(kLink, "another");
  EXPECT_TRUE(asked.empty());
  segments.link_up(kLink, "node-7");
  ASSERT_EQ(asked.size(), 1u);
  // It goes before it has answered; the next one is asked.
  segments.link_down(kLink);
  segments.link_up(kNext, "node-7");
  ASSERT_EQ(asked.size(), 2u);
  answer(kNext, StatusCode::ok);
  EXPECT_EQ(opened->link, kNext);
}

TEST_F(RemoteSegmentsTest, TheTimeLimitEndsTheWait) {
  open(LinkKey{});
  segments.expire(kStart + 4s);
  EXPECT_TRUE(statuses.empty());
  segments.expire(kStart + 5s);
  ASSERT_EQ(statuses, std::vector{StatusCode::no_route});
  EXPECT_NE(last_text.find("node-7"), std::string::npos);
  segments.close(opened);
  EXPECT_EQ(segments.count(), 0u);
}

TEST_F(RemoteSegmentsTest, IsOpenedAgainAsTheSameExportersAfterALoss) {
  open(kLink);
  answer(kLink, StatusCode::ok, 40, 9);
  segments.pin(opened->entry);
  segments.link_down(kLink);
  EXPECT_EQ(opened->state, RemoteState::away);
  segments.link_up(kNext, "node-7");
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1].message.incarnation, 9u);
  EXPECT_EQ(asked[1].message.regions, 3u);
  EXPECT_TRUE(segments.is_reopening(kNext));
  answer(kNext, StatusCode::ok, 77, 9);
  EXPECT_FALSE(segments.is_reopening(kNext));
  EXPECT_EQ(opened->wire, 77u);
  EXPECT_EQ(statuses.size(), 1u) << "the client was answered once";
}

// The way is not kept closed for what no owner waits for.
TEST_F(RemoteSegmentsTest, OnlyWhatOwnersNameIsWaitedFor) {
  open(kLink);
  answer(kLink, StatusCode::ok);
  segments.link_down(kLink);
  segments.link_up(kNext, "node-7");
  EXPECT_FALSE(segments.is_reopening(kNext));
  segments.pin(opened->entry);
  EXPECT_TRUE(segments.is_reopening(kNext));
  // Nor is it forgotten when its client lets go of it meanwhile.
  segments.close(opened);
  EXPECT_TRUE(segments.is_reopening(kNext));
  answer(kNext, StatusCode::ok, 78);
  EXPECT_EQ(opened->state, RemoteState::open);
  EXPECT_EQ(opened->wire, 78u);
  segments.unpin(opened->entry);
  EXPECT_EQ(closed, std::vector<std::uint64_t>{78});
}

// A host that could not answer is asked again over the next link.
TEST_F(RemoteSegmentsTest, APassingRefusalIsNoEnd) {
  open(kLink);
  answer(kLink, StatusCode::ok);
  segments.link_down(kLink);
  segments.link_up(kNext, "node-7");
  answer(kNext, StatusCode::exhausted);
  EXPECT_EQ(opened->state, RemoteState::away);
  segments.link_down(kNext);
  segments.link_up(kLink, "node-7");
  ASSERT_EQ(asked.size(), 3u);
  answer(kLink, StatusCode::ok, 79);
  EXPECT_EQ(opened->wire, 79u);
}

TEST_F(RemoteSegmentsTest, AnotherExporterMakesItStale) {
  open(kLink);
  answer(kLink, StatusCode::ok);
  segments.link_down(kLink);
  segments.link_up(kNext, "node-7");
  answer(kNext, StatusCode::stale_handle);
  EXPECT_EQ(opened->state, RemoteState::failed);
  EXPECT_EQ(opened->failure, Reason::stale_handle);
  // It is not asked for any more.
  segments.link_down(kNext);
  segments.link_up(kLink, "node-7");
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(RemoteSegmentsTest, ItsEntryStaysWhileOwnersNameIt) {
  open(kLink);
  answer(kLink, StatusCode::ok);
  const std::uint32_t entry = opened->entry;
  segments.pin(entry);
  segments.close(opened);
  EXPECT_TRUE(closed.empty());
  EXPECT_EQ(segments.at(entry).wire, 40u);
  segments.unpin(entry);
  EXPECT_EQ(closed, std::vector<std::uint64_t>{40});
  EXPECT_EQ(segments.count(), 0u);
  EXPECT_EQ(unused, std::vector<std::string>{"node-7"});
}

TEST_F(RemoteSegmentsTest, WhatIsClosedBeforeItsAnswerIsClosedThereToo) {
  open(kLink);
  segments.link_up(kLink, "node-7");
  EXPECT_EQ(asked.size(), 1u) << "it was asked for already";
  const PeerOpenSegment first = asked[0].message;
  segments.expire(kStart + 5s);
  segments.close(opened);
  PeerSegment late;
  late.header.request = first.header.request;
  late.segment = 41;
  segments.answered(kLink, late);
  EXPECT_EQ(closed, std::vector<std::uint64_t>{41});
}

TEST_F(RemoteSegmentsTest, ALinkThatDoesNotTakeTheQuestionIsNoLink) {
  link_works = false;
  open(kLink);
  link_works = true;
  segments.link_up(kNext, "node-7");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].link, kNext);
}

}  // namespace
}  // namespace tentq
