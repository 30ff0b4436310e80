// CopyChooser: when copies go past the cache.
#include "transports/shm/copy_chooser.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace tentq::test {
namespace {

constexpr std::uint64_t kKiB = 1u << 10;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr CopyRoutine kCached = CopyRoutine::avx2_cached;
constexpr CopyRoutine kStreamed = CopyRoutine::avx2_streamed;
constexpr RegionIndex kFrom{1};
constexpr RegionIndex kTo{2};

// Copies [0, bytes) from one region to the other in chunks; how many were streamed.
std::size_t pass(CopyChooser& chooser, std::uint64_t bytes, std::uint64_t chunk) {
  std::size_t streamed = 0;
  for (std::uint64_t at = 0; at < bytes; at += chunk) {
    const auto routine = chooser.choose({kTo, at}, {kFrom, at}, std::min(chunk, bytes - at));
    if (routine == kStreamed) ++streamed;
  }
  return streamed;
}

TEST(CopyChooser, AWorkingSetThatFitsIsStreamedOnceThenCached) {
  CopyChooser chooser(kCached, kStreamed, 8 * kMiB);
  EXPECT_EQ(pass(chooser, 4 * kMiB, 256 * kKiB), 16u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pass(chooser, 4 * kMiB, 256 * kKiB), 0u);
}

TEST(CopyChooser, AWorkingSetThatDoesNotFitIsStreamedForEver) {
  CopyChooser chooser(kCached, kStreamed, 8 * kMiB);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pass(chooser, 5 * kMiB, 256 * kKiB), 20u);
}

TEST(CopyChooser, SourcesAndDestinationsBothCount) {
  // 6 MiB of sources alone would fit.
  CopyChooser chooser(kCached, kStreamed, 8 * kMiB);
  pass(chooser, 6 * kMiB, 256 * kKiB);
  EXPECT_EQ(pass(chooser, 6 * kMiB, 256 * kKiB), 24u);
}

TEST(CopyChooser, ShortCopiesAreNeverStreamed) {
  CopyChooser chooser(kCached, kStreamed, 1 * kMiB);
  EXPECT_EQ(pass(chooser, 64 * kMiB, CopyChooser::kLeastStreamed - 1), 0u);
  CopyChooser other(kCached, kStreamed, 1 * kMiB);
  EXPECT_EQ(pass(other, 64 * kMiB, CopyChooser::kLeastStreamed), 1024u);
}

TEST(CopyChooser, OneSideInTheCacheIsNotEnough) {
  CopyChooser chooser(kCached, kStreamed, 4 * kMiB);
  for (std::uint64_t at = 0; at < 64 * kMiB; at += 256 * kKiB) {
    EXPECT_EQ(chooser.choose({kTo, at}, {kFrom, 0}, 256 * kKiB), kStreamed) << "hot source";
  }
  for (std::uint64_t at = 0; at < 64 * kMiB; at += 256 * kKiB) {
    EXPECT_EQ(chooser.choose({kTo, 0}, {RegionIndex{3}, at}, 256 * kKiB), kStreamed)
        << "hot destination";
  }
}

TEST(CopyChooser, ABurstOfOtherWorkCoolsAHotRange) {
  CopyChooser chooser(kCached, kStreamed, 4 * kMiB);
  pass(chooser, kMiB, 256 * kKiB);
  EXPECT_EQ(pass(chooser, kMiB, 256 * kKiB), 0u);
  for (std::uint64_t at = 0; at < 4 * kMiB; at += 256 * kKiB) {
    chooser.choose({RegionIndex{8}, at}, {RegionIndex{9}, at}, 256 * kKiB);
  }
  EXPECT_EQ(pass(chooser, kMiB, 256 * kKiB), 4u);
  EXPECT_EQ(pass(chooser, kMiB, 256 * kKiB), 0u);
}

TEST(CopyChooser, RegionsAreToldApart) {
  CopyChooser chooser(kCached, kStreamed, 4 * kMiB);
  chooser.choose({kTo, 0}, {kFrom, 0}, 256 * kKiB);
  EXPECT_EQ(chooser.choose({RegionIndex{8}, 0}, {RegionIndex{9}, 0}, 256 * kKiB), kStreamed);
  EXPECT_EQ(chooser.choose({kTo, 0}, {kFrom, 0}, 256 * kKiB), kCached);
}

TEST(CopyChooser, WithoutACacheEverythingLongIsStreamed) {
  CopyChooser chooser(kCached, kStreamed, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(chooser.choose({kTo, 0}, {kFrom, 0}, 64 * kKiB), kStreamed);
  }
}

TEST(CopyChooser, CacheSizeFollowsTheProcessorWithinBounds) {
  EXPECT_EQ(cache_bytes_for(1 * kMiB, 320 * kMiB), 8 * kMiB);  // a machine that shows another's L3
  EXPECT_EQ(cache_bytes_for(512 * kKiB, 16 * kMiB), 4 * kMiB);
  EXPECT_EQ(cache_bytes_for(2 * kMiB, 24 * kMiB), 12 * kMiB);
  EXPECT_EQ(cache_bytes_for(4 * kMiB, 96 * kMiB), 16 * kMiB);
  EXPECT_EQ(cache_bytes_for(0, 0), 4 * kMiB);
  EXPECT_EQ(cache_bytes_for(64 * kKiB, 0), 1 * kMiB);
  EXPECT_GE(cache_bytes_of_host(), 1 * kMiB);
  EXPECT_LE(cache_bytes_of_host(), 16 * kMiB);
}

// The same rule with a table that forgets nothing.
class Model {
 public:
  explicit Model(std::uint64_t cache_bytes) : cache_bytes_(cache_bytes) {}
  bool cached(TouchedRange to, TouchedRange from, std::uint64_t length) {
    const bool both = touch(to, length);
    return touch(from, length) && both;
  }

 private:
  bool touch(TouchedRange range, std::uint64_t length) {
    std::uint64_t cached = 0;
    for (std::uint64_t byte = 0; byte < length;) {
      const std::uint64_t granule = (range.offset + byte) / CopyChooser::kGranule;
      const std::uint64_t next = (granule + 1) * CopyChooser::kGranule - range.offset;
      const std::uint64_t count = std::min(next, length) - byte;
      const auto found = last_.find({range.region, granule});
      if (found != last_.end() && touched_ - found->second <= cache_bytes_) cached += count;
      touched_ += count;
      last_[{range.region, granule}] = touched_;
      byte += count;
    }
    return 2 * cached >= length;
  }

  std::uint64_t cache_bytes_;
  std::uint64_t touched_ = 0;
  std::map<std::pair<RegionIndex, std::uint64_t>, std::uint64_t> last_;
};

RC_GTEST_PROP(CopyChooserProperty, NeverTakesAColdRangeForACachedOne, ()) {
  const auto cache = *rc::gen::inRange<std::uint64_t>(1, 64) * 64 * kKiB;
  CopyChooser chooser(kCached, kStreamed, cache);
  Model model(cache);
  using Number = std::uint64_t;
  const auto steps = *rc::gen::container<std::vector<std::tuple<Number, Number, Number>>>(
      rc::gen::tuple(rc::gen::inRange<Number>(0, 40), rc::gen::inRange<Number>(0, 40),
                     rc::gen::inRange<Number>(1, 20)));
  for (const auto& [to, from, size] : steps) {
    const Number length = size * 50'000;
    const TouchedRange target = {to % 2 == 0 ? RegionIndex{0} : RegionIndex{1}, to * 37 * kKiB};
    const TouchedRange source = {from % 2 == 0 ? RegionIndex{3} : RegionIndex{4}, from * 91 * kKiB};
    const bool cached = model.cached(target, source, length);
    const CopyRoutine chosen = chooser.choose(target, source, length);
    if (length < CopyChooser::kLeastStreamed) RC_ASSERT(chosen == kCached);
    if (length >= CopyChooser::kLeastStreamed && !cached) RC_ASSERT(chosen == kStreamed);
  }
}

}  // namespace
}  // namespace tentq::test
