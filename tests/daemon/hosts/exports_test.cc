// What other hosts may write into, and that memory outlives whoever writes into it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "daemon/hosts/exports.h"
#include "tests/daemon/shell/memory.h"

namespace tentq {
namespace {

using namespace std::chrono_literals;

constexpr LinkKey kLink{1};
constexpr LinkKey kOther{2};
constexpr SessionId kStore{1};
constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint64_t kSize = 8192;

class ExportsTest : public ::testing::Test, protected Segments::Watcher {
 protected:
  ExportsTest() {
    segments.watch(*this);
    std::string why;
    EXPECT_EQ(segments.claim("store-0", 1000, 1, kStore, false, now, 5s, &segment, &why),
              StatusCode::ok);
  }
  void region_added(const Segment& of, RegionIndex region) override {
    exports.region_added(of, region);
  }
  void region_removed(const Segment& of, RegionIndex region) override {
    exports.region_removed(of, region);
  }
  void exporter_changed(const Segment& of, Reason reason) override {
    exports.exporter_changed(of, reason);
  }
  RegionIndex add(std::uint64_t base, RegionAccess access, bool read_only = false) {
    Region region = test::make_region(base, kSize, kStore);
    region.remote_access = access;
    region.read_only = read_only;
    RegionIndex index;
    std::string why;
    EXPECT_EQ(regions.add(std::move(region), &index, &why), StatusCode::ok) << why;
    segments.add_region(*segment, index);
    return index;
  }
  void remove(RegionIndex index) {
    segments.remove_region(*segment, index);
    regions.unregister(index);
  }
  Reason reason_of(LinkKey link, std::uint64_t handle, std::uint64_t offset, std::uint64_t length) {
    const PinnedRange range = exports.pin(link, handle, offset, length);
    if (range.reason == Reason::none) exports.unpin(link, range);
    return range.reason;
  }

  Time now = time_from_ns(1'000'000'000);
  std::uint32_t released = 0;
  SegmentPtr segment;
  Regions regions{64, 1 << 30, [](shm::Mapping) {}, [this](const Region&) { ++released; }};
  Segments segments{regions, 60s};
  Exports exports{regions};
};

TEST_F(ExportsTest, GivesWhatLiesInAWritableRegion) {
  const RegionIndex index = add(kBase, RegionAccess::read_write);
  exports.open(kLink, 7, *segment);
  const PinnedRange range = exports.pin(kLink, 7, kBase + 100, 200);
  ASSERT_EQ(range.reason, Reason::none);
  EXPECT_EQ(range.mapped, regions.at(index).mapping.data() + 100);
  exports.unpin(kLink, range);
}

TEST_F(ExportsTest, RefusesEverythingElse) {
  add(kBase, RegionAccess::read_write);
  add(kBase + kSize, RegionAccess::read);
  add(kBase + 2 * kSize, RegionAccess::none);
  add(kBase + 3 * kSize, RegionAccess::read_write, true);
  exports.open(kLink, 7, *segment);
  EXPECT_EQ(reason_of(kLink, 8, kBase, 1), Reason::unknown_segment);
  EXPECT_EQ(reason_of(kOther, 7, kBase, 1), Reason::unknown_segment);
  EXPECT_EQ(reason_of(kLink, 7, kBase - 1, 1), Reason::out_of_range);
  EXPECT_EQ(reason_of(kLink, 7, 0, ~std::uint64_t{0}), Reason::out_of_range);
  EXPECT_EQ(reason_of(kLink, 7, kBase + kSize - 1, 2), Reason::out_of_range);
  EXPECT_EQ(reason_of(kLink, 7, kBase, ~std::uint64_t{0} - kBase), Reason::out_of_range);
  EXPECT_EQ(reason_of(kLink, 7, kBase + 4 * kSize, 1), Reason::out_of_range);
  EXPECT_EQ(reason_of(kLink, 7, kBase + kSize, 1), Reason::not_permitted);
  EXPECT_EQ(reason_of(kLink, 7, kBase + 2 * kSize, 1), Reason::not_permitted);
  EXPECT_EQ(reason_of(kLink, 7, kBase + 3 * kSize, 1), Reason::not_permitted);
  EXPECT_EQ(reason_of(kLink, 7, kBase, kSize), Reason::none);
}

TEST_F(ExportsTest, ARegionStaysUntilNobodyWritesIntoIt) {
  const RegionIndex index = add(kBase, RegionAccess::read_write);
  exports.open(kLink, 7, *segment);
  const PinnedRange range = exports.pin(kLink, 7, kBase, kSize);
  remove(index);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::out_of_range);
  exports.settle();
  EXPECT_EQ(released, 0u);
  exports.unpin(kLink, range);
  exports.settle();
  EXPECT_EQ(released, 1u);
}

// As READs find it: the exporter and not its regions is what a handle means.
TEST_F(ExportsTest, WhoWritesLearnsThatTheExporterIsGone) {
  const RegionIndex index = add(kBase, RegionAccess::read_write);
  exports.open(kLink, 7, *segment);
  segments.begin_release(*segment);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::peer_lost);
  remove(index);
  segments.release(segment, now);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::peer_lost);
  std::string why;
  SegmentPtr same;
  ASSERT_EQ(segments.claim("store-0", 1000, 1, kStore, true, now, 5s, &same, &why), StatusCode::ok);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::out_of_range);
  add(kBase, RegionAccess::read_write);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::none);
  segments.begin_release(*segment);
  remove(segment->regions.front());
  segments.release(segment, now);
  SegmentPtr another;
  ASSERT_EQ(segments.claim("store-0", 1000, 2, kStore, false, now, 5s, &another, &why),
            StatusCode::ok);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::stale_handle);
}

TEST_F(ExportsTest, ALinkThatIsGoneLeavesOthersAlone) {
  const RegionIndex index = add(kBase, RegionAccess::read_write);
  exports.open(kLink, 7, *segment);
  exports.open(kOther, 7, *segment);
  const PinnedRange range = exports.pin(kLink, 7, kBase, kSize);
  exports.forget(kLink);
  EXPECT_EQ(reason_of(kLink, 7, kBase, 1), Reason::unknown_segment);
  EXPECT_EQ(reason_of(kOther, 7, kBase, 1), Reason::none);
  exports.close(kOther, 7);
  EXPECT_EQ(reason_of(kOther, 7, kBase, 1), Reason::unknown_segment);
  // Its last handle is gone, not the one who writes.
  remove(index);
  exports.settle();
  EXPECT_EQ(released, 0u);
  exports.unpin(kLink, range);
  exports.settle();
  EXPECT_EQ(released, 1u);
}

TEST_F(ExportsTest, RegionsThatComeLaterAreFoundInOrder) {
  exports.open(kLink, 7, *segment);
  add(kBase + kSize, RegionAccess::read_write);
  add(kBase, RegionAccess::read_write);
  EXPECT_EQ(reason_of(kLink, 7, kBase, kSize), Reason::none);
  EXPECT_EQ(reason_of(kLink, 7, kBase + kSize, kSize), Reason::none);
  EXPECT_EQ(reason_of(kLink, 7, kBase, kSize + 1), Reason::out_of_range);
}

// Two threads write, each its own bytes, while the conductor takes regions away and gives new ones.
TEST_F(ExportsTest, ThreadsPinWhileRegionsComeAndGo) {
  exports.open(kLink, 7, *segment);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0};
  const auto write = [&](std::uint64_t offset) {
    while (!stop.load()) {
      const PinnedRange range = exports.pin(kLink, 7, kBase + offset, 64);
      if (range.reason != Reason::none) continue;
      range.mapped[written.fetch_add(1) % 64] = std::byte{1};
      exports.unpin(kLink, range);
    }
  };
  std::thread first(write, 0);
  std::thread second(write, 64);
  std::uint32_t rounds = 0;
  while (rounds < 200 || written.load() < 1000) {
    const RegionIndex index = add(kBase, RegionAccess::read_write);
    const std::uint64_t before = written.load();
    while (written.load() == before) std::this_thread::yield();
    remove(index);
    while (released == rounds) exports.settle();
    ++rounds;
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(released, rounds);
}

}  // namespace
}  // namespace tentq
