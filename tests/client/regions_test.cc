// From an address to its region.
#include "client/region_registry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tentq::lib {
namespace {

std::byte* at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

RegionEntry& add_active(RegionRegistry& regions, std::uintptr_t address, std::size_t size) {
  RegionEntry& entry = regions.add(at(address), size);
  entry.segment_offset = address;
  entry.phase = RegionEntry::Phase::active;
  return entry;
}

TEST(RegionRegistry, AWholeRangeOrNothing) {
  RegionRegistry regions;
  const RegionEntry& low = add_active(regions, 0x1000, 0x100);
  const RegionEntry& high = add_active(regions, 0x1100, 0x100);
  EXPECT_EQ(regions.find(at(0x1000), 0x100), &low);
  EXPECT_EQ(regions.find(at(0x10ff), 1), &low);
  EXPECT_EQ(regions.find(at(0x1100), 1), &high);
  EXPECT_EQ(regions.find(at(0x10ff), 2), nullptr);  // across two regions
  EXPECT_EQ(regions.find(at(0x0fff), 1), nullptr);
  EXPECT_EQ(regions.find(at(0x1200), 1), nullptr);
  EXPECT_EQ(regions.find(at(0x11ff), SIZE_MAX), nullptr);  // wraps
}

TEST(RegionRegistry, RegisteringAndRetiringOnesAreNotFound) {
  RegionRegistry regions;
  RegionEntry& entry = regions.add(at(0x1000), 0x100);
  entry.segment_offset = 0x1000;
  EXPECT_EQ(regions.find(at(0x1000), 1), nullptr);
  EXPECT_EQ(regions.overlapping(at(0x10ff), 1, 0x9000), &entry);
  entry.phase = RegionEntry::Phase::active;
  EXPECT_EQ(regions.find(at(0x1000), 1), &entry);
  regions.retire(entry);
  EXPECT_EQ(regions.find(at(0x1000), 1), nullptr);
  EXPECT_EQ(regions.by_id(entry.id), &entry);
  // The address may be used again at once.
  EXPECT_EQ(regions.overlapping(at(0x1000), 0x100, 0x1000), nullptr);
}

TEST(RegionRegistry, SegmentOffsetsMustNotOverlapEither) {
  RegionRegistry regions;
  RegionEntry& entry = add_active(regions, 0x1000, 0x100);
  entry.segment_offset = 0;
  EXPECT_EQ(regions.overlapping(at(0x5000), 0x10, 0xff), &entry);
  EXPECT_EQ(regions.overlapping(at(0x5000), 0x10, 0x100), nullptr);
}

TEST(RegionRegistry, FindsWhatALinearSearchFinds) {
  const bool ok = rc::check([] {
    RegionRegistry regions;
    std::vector<RegionEntry*> model;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 64), rc::gen::inRange(1, 6)));
    for (const auto& [place, size] : steps) {
      const auto address = static_cast<std::uintptr_t>(place) * 16 + 0x10000;
      const auto bytes = static_cast<std::size_t>(size) * 16;
      const RegionEntry* const overlap = regions.overlapping(at(address), bytes, address);
      if (overlap == nullptr) {
        model.push_back(&add_active(regions, address, bytes));
      } else if (place % 3 == 0) {
        regions.remove(overlap->id);
        std::erase(model, overlap);
      }
      const std::uintptr_t asked = address + 8;
      RegionEntry* expected = nullptr;
      for (RegionEntry* entry : model) {
        const auto begin = reinterpret_cast<std::uintptr_t>(entry->data);
        if (asked >= begin && asked + bytes <= begin + entry->size) expected = entry;
      }
      RC_ASSERT(regions.find(at(asked), bytes) == expected);
      for (RegionEntry* entry : model) RC_ASSERT(regions.by_id(entry->id) == entry);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace tentq::lib
