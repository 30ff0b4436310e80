// The memory areas: where their parts lie, and the hash that pins all of it.
#include <gtest/gtest.h>

#include <bit>

#include "proto/session_layout.h"

namespace tentq {
namespace {

SessionSizes sizes_of(std::uint32_t class_mask, std::uint32_t ring_cells, std::uint32_t slots,
                      std::uint32_t arena_bytes) {
  SessionSizes sizes;
  sizes.class_mask = class_mask;
  sizes.ring_cells = ring_cells;
  sizes.slots = slots;
  sizes.arena_bytes = arena_bytes;
  return sizes;
}

// Whoever changes a size or an offset that both sides share sees it here: a new value means that
// old clients are refused, so it needs a new major version and a line in the README.
TEST(Layout, HashIsPinned) {
  EXPECT_EQ(kLayoutHash, 0x168c25b81e97b71bu);
}

TEST(Layout, OnlyLittleEndianHosts) {
  EXPECT_EQ(std::endian::native, std::endian::little);
}

TEST(Layout, HashIsFnv1a) {
  // The empty input and eight zero bytes.
  EXPECT_EQ(detail::fnv_all({}), 0xcbf29ce484222325u);
  EXPECT_EQ(detail::fnv_all({0}), 0xa8c7f832281a39c5u);
  EXPECT_NE(detail::fnv_all({1, 2}), detail::fnv_all({2, 1}));
}

TEST(Layout, AreasOfTheDefaultSizes) {
  const SessionLayout layout(sizes_of(kClientClassMask, 1024, 4096, 1 << 16));
  EXPECT_EQ(layout.ring_count(), 4u);
  EXPECT_EQ(layout.ring_offset(ClassId::foreground), 4096u);
  EXPECT_EQ(layout.ring_offset(ClassId::standard), 4096u + 1024 * 128);
  EXPECT_EQ(layout.ring_offset(ClassId::background), 4096u + 3 * 1024 * 128);
  EXPECT_EQ(layout.arena_offset(), 4096u + 4 * 1024 * 128);
  EXPECT_EQ(layout.req_bytes(), 4096u + 4 * 1024 * 128 + (1 << 16));
  EXPECT_EQ(layout.dirty_offset(), 4096u);
  EXPECT_EQ(layout.dirty_words(), 64u);
  EXPECT_EQ(layout.slots_offset(), 8192u);
  EXPECT_EQ(layout.sta_bytes(), 8192u + 4096 * 64);
}

TEST(Layout, ClassesWithoutARingTakeNoRoom) {
  const SessionLayout layout(
      sizes_of(bit_of(ClassId::foreground) | bit_of(ClassId::background), 16, 1, 0));
  EXPECT_EQ(layout.ring_count(), 2u);
  EXPECT_EQ(layout.ring_offset(ClassId::background), 4096u + 16 * 128);
  EXPECT_EQ(layout.req_bytes(), 8192u);
  EXPECT_EQ(layout.dirty_words(), 1u);
  EXPECT_EQ(layout.sta_bytes(), 4096u + 4096 + 4096);
}

TEST(Layout, OddSizesAreRoundedUpToPages) {
  const SessionLayout layout(sizes_of(bit_of(ClassId::standard), 32, 65, 1));
  EXPECT_EQ(layout.req_bytes(), 4096u + 32 * 128 + 4096);
  EXPECT_EQ(layout.dirty_words(), 2u);
  EXPECT_EQ(layout.sta_bytes(), 8192u + 8192);
}

TEST(Layout, HugeSizesDoNotWrap) {
  const SessionLayout layout(sizes_of(0xff, 0xffffffff, 0xffffffff, 0xffffffff));
  EXPECT_GT(layout.req_bytes(), std::uint64_t{8} * 0xffffffff * 128);
  EXPECT_GT(layout.sta_bytes(), std::uint64_t{0xffffffff} * 64);
}

}  // namespace
}  // namespace tentq
