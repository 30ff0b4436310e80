// The slot's one atomic word: packing and unpacking are inverse, and the bits are where they are
// documented.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "proto/ids.h"
#include "proto/slot.h"

namespace tentq {
namespace {

RC_GTEST_PROP(SlotWordProperty, UnpackIsTheInverseOfPack, (std::uint32_t generation)) {
  const auto state = static_cast<TaskState>(*rc::gen::inRange(0, 256));
  const auto reason = static_cast<Reason>(*rc::gen::inRange(0, 65536));
  const SlotWord back = SlotWord::unpack(SlotWord{generation, state, reason}.pack());
  RC_ASSERT(back.generation == generation);
  RC_ASSERT(back.state == state);
  RC_ASSERT(back.reason == reason);
}

RC_GTEST_PROP(SlotWordProperty, PackIsTheInverseOfUnpackButForTheReservedByte,
              (std::uint64_t word)) {
  RC_ASSERT(SlotWord::unpack(word).pack() == (word & ~std::uint64_t{0xff}));
}

TEST(SlotWord, BitsLieWhereTheyAreDocumented) {
  const SlotWord word{0x12345678, TaskState::canceled, static_cast<Reason>(0xabcd)};
  EXPECT_EQ(word.pack(), 0x12345678'04'abcd'00u);
  EXPECT_EQ(SlotWord{}.pack(), 0u);
}

RC_GTEST_PROP(OwnerIdProperty, NumberAndBackIsTheSameOwner, (std::uint64_t number)) {
  RC_ASSERT(OwnerId::from_number(number).number() == number);
}

}  // namespace
}  // namespace tentq
