// Who may take a name, what an opened handle means after its exporter changed, and where an address
// of a segment leads.
#include <gtest/gtest.h>

#include "daemon/segment_requests.h"
#include "daemon/segments.h"
#include "tests/daemon/shell/memory.h"

namespace tentq {
namespace {

using namespace std::chrono_literals;

constexpr SessionId kStore{1};
constexpr SessionId kEngine{2};
constexpr std::uint32_t kUid = 1000;

class NamesTest : public ::testing::Test {
 protected:
  StatusCode claim(SessionId session, std::uint64_t incarnation, std::uint32_t uid = kUid,
                   bool reattach = false) {
    return segments.claim("store-0", uid, incarnation, session, reattach, now, 5s, &claimed, &why);
  }
  RegionIndex add_region(const SegmentPtr& segment, std::uint64_t base, std::uint64_t size) {
    RegionIndex index;
    EXPECT_EQ(regions.add(test::make_region(base, size, segment->exporter), &index, &why),
              StatusCode::ok);
    segments.add_region(*segment, index);
    return index;
  }
  Resolution resolve(const SegmentPtr& segment, std::uint64_t offset, std::uint64_t length,
                     Op op = Op::read) {
    return segments.resolve(*segment, offset, length, op, {kEngine, kUid, &groups, ""}, now);
  }
  void leave(const SegmentPtr& segment) {
    while (!segment->regions.empty()) {
      const RegionIndex index = segment->regions.back();
      segments.remove_region(*segment, index);
      regions.unregister(index);
    }
    segments.release(segment, now);
  }

  Time now = time_from_ns(1'000'000'000);
  std::vector<gid_t> groups{100};
  std::string why;
  SegmentPtr claimed;
  Regions regions{64, 1 << 30, [](shm::Mapping) {}, [](const Region&) {}};
  Segments segments{regions, 60s};
};

TEST_F(NamesTest, SecondLiveHolderIsRefused) {
  EXPECT_EQ(claim(kStore, 1), StatusCode::ok);
  EXPECT_EQ(claim(kEngine, 2), StatusCode::name_in_use);
  EXPECT_NE(why.find("store-0"), std::string::npos);
}

TEST_F(NamesTest, SameUidTakesAFreedNameAtOnceAnotherWaits) {
  ASSERT_EQ(claim(kStore, 1), StatusCode::ok);
  leave(claimed);
  now += 59s;
  EXPECT_EQ(claim(kEngine, 2, kUid + 1), StatusCode::name_in_use);
  EXPECT_EQ(claim(kEngine, 2), StatusCode::ok);
  leave(claimed);
  now += 60s;
  EXPECT_EQ(claim(kEngine, 3, kUid + 1), StatusCode::ok);
}

TEST_F(NamesTest, HandleIsStaleOnceAnotherProcessHasTheName) {
  ASSERT_EQ(claim(kStore, 1), StatusCode::ok);
  const SegmentPtr opened = segments.open("store-0", 0, false, now);
  add_region(claimed, 0x1000, 4096);
  EXPECT_EQ(resolve(opened, 0x1000, 16).lookup, Lookup::found);
  leave(claimed);
  EXPECT_EQ(resolve(opened, 0x1000, 16).reason, Reason::peer_lost);
  ASSERT_EQ(claim(kStore, 2), StatusCode::ok);
  EXPECT_EQ(resolve(opened, 0x1000, 16).reason, Reason::stale_handle);
  EXPECT_EQ(segments.open("store-0", 1, false, now), nullptr);
}

TEST_F(NamesTest, OpeningNeedsAnExporter) {
  EXPECT_EQ(segments.open("store-0", 0, false, now), nullptr);
}

// After the daemon's restart an engine may come back before the Store whose memory it reads.
TEST_F(NamesTest, HandleOpenedBeforeItsExporterIsBackFindsItLater) {
  const SegmentPtr early = segments.open("store-0", 7, true, now);
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(resolve(early, 0x1000, 16).lookup, Lookup::pending);
  ASSERT_EQ(claim(kStore, 7, kUid, true), StatusCode::ok);
  EXPECT_EQ(resolve(early, 0x1000, 16).lookup, Lookup::pending) << "its regions follow";
  add_region(claimed, 0x1000, 4096);
  EXPECT_EQ(resolve(early, 0x1000, 16).lookup, Lookup::found);
  now += 5s;
  EXPECT_EQ(resolve(early, 0x9000, 16).reason, Reason::out_of_range);
}

TEST_F(NamesTest, AnotherProcessInPlaceOfTheExpectedOneMakesHandlesStale) {
  const SegmentPtr early = segments.open("store-0", 7, true, now);
  ASSERT_EQ(claim(kStore, 8), StatusCode::ok);
  EXPECT_EQ(resolve(early, 0x1000, 16).reason, Reason::stale_handle);
}

TEST_F(NamesTest, AddressesResolveToTheEndOfARegionAndNotBeyond) {
  ASSERT_EQ(claim(kStore, 1), StatusCode::ok);
  add_region(claimed, 0x10000, 4096);
  const RegionIndex second = add_region(claimed, 0x20000, 8192);
  const Resolution inside = resolve(claimed, 0x21000, 4096);
  EXPECT_EQ(inside.lookup, Lookup::found);
  EXPECT_EQ(inside.region, second);
  EXPECT_EQ(inside.region_offset, 0x1000u);
  EXPECT_EQ(resolve(claimed, 0x21000, 4097).reason, Reason::out_of_range);
  EXPECT_EQ(resolve(claimed, 0x10fff, 1).lookup, Lookup::found);
  EXPECT_EQ(resolve(claimed, 0x11000, 1).reason, Reason::out_of_range);
  EXPECT_EQ(resolve(claimed, 0x0ffff, 1).reason, Reason::out_of_range);
  EXPECT_EQ(resolve(claimed, ~std::uint64_t{0}, ~std::uint64_t{0}).reason, Reason::out_of_range);
  EXPECT_EQ(resolve(claimed, 0x10000, ~std::uint64_t{0}).reason, Reason::out_of_range);
}

TEST_F(NamesTest, WritingNeedsMoreThanReading) {
  ASSERT_EQ(claim(kStore, 1), StatusCode::ok);
  const RegionIndex index = add_region(claimed, 0x1000, 4096);
  regions.at(index).host_access = RegionAccess::read;
  EXPECT_EQ(resolve(claimed, 0x1000, 16, Op::read).lookup, Lookup::found);
  EXPECT_EQ(resolve(claimed, 0x1000, 16, Op::write).reason, Reason::not_permitted);
  regions.at(index).host_access = RegionAccess::read_write;
  EXPECT_EQ(resolve(claimed, 0x1000, 16, Op::write).lookup, Lookup::found);
  regions.at(index).read_only = true;
  EXPECT_EQ(resolve(claimed, 0x1000, 16, Op::write).reason, Reason::not_permitted);
}

TEST_F(NamesTest, OverlapsAreSeenAtBothEnds) {
  ASSERT_EQ(claim(kStore, 1), StatusCode::ok);
  add_region(claimed, 0x10000, 4096);
  EXPECT_TRUE(segments.overlaps(*claimed, 0x10fff, 1));
  EXPECT_TRUE(segments.overlaps(*claimed, 0x0f000, 0x1001));
  EXPECT_FALSE(segments.overlaps(*claimed, 0x11000, 4096));
  EXPECT_FALSE(segments.overlaps(*claimed, 0x0f000, 0x1000));
}

TEST(SegmentAddress, TakesNamesAndAddressesOfThisHost) {
  std::string host, name, why;
  for (const char* text : {"store-1", "tentq:///store-1", "tentq://localhost/store-1",
                           "tentq://127.0.0.1/store-1", "tentq://[::1]/store-1"}) {
    host = "before";
    EXPECT_EQ(parse_segment_address(text, &host, &name, &why), StatusCode::ok) << text << why;
    EXPECT_EQ(name, "store-1");
    EXPECT_EQ(host, "");
  }
}

// With a port it is a daemon that is named, also if it is one of this host.
TEST(SegmentAddress, TellsWhichHostIsMeant) {
  const std::pair<const char*, const char*> addresses[] = {
      {"tentq://10.0.0.2/store-1", "10.0.0.2"},
      {"tentq://node-7:7471/store-1", "node-7:7471"},
      {"tentq://[fd00::2]:99/store-1", "[fd00::2]:99"},
      {"tentq://127.0.0.1:7000/store-1", "127.0.0.1:7000"}};
  for (const auto& [text, expected] : addresses) {
    std::string host, name, why;
    EXPECT_EQ(parse_segment_address(text, &host, &name, &why), StatusCode::ok) << text << why;
    EXPECT_EQ(host, expected);
    EXPECT_EQ(name, "store-1");
  }
}

TEST(SegmentAddress, RefusesMalformedOnes) {
  std::string host, name, why;
  for (const char* text : {"", "tentq://host", "../etc/passwd", "a/b", "store 1", "-x", "a\nb"}) {
    EXPECT_EQ(parse_segment_address(text, &host, &name, &why), StatusCode::invalid_argument)
        << text;
  }
}

}  // namespace
}  // namespace tentq
