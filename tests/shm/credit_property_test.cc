// Credit against a naive count of what is held: any sequence of spend, unspend, raise and lower.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "tests/shm/credit_memory.h"

namespace tentq::shm {
namespace {

CreditAmounts sum(const CreditAmounts& a, const CreditAmounts& b) {
  return {a.owners + b.owners, a.bytes + b.bytes, a.extents + b.extents};
}

bool fits(const CreditAmounts& amounts, const CreditAmounts& limit) {
  return amounts.owners <= limit.owners && amounts.bytes <= limit.bytes &&
         amounts.extents <= limit.extents;
}

CreditAmounts random_amounts(std::uint64_t most) {
  return {*rc::gen::inRange<std::uint64_t>(0, most), *rc::gen::inRange<std::uint64_t>(0, most),
          *rc::gen::inRange<std::uint64_t>(0, most)};
}

CreditAmounts total(const std::vector<CreditAmounts>& held) {
  CreditAmounts all;
  for (const CreditAmounts& amounts : held) all = sum(all, amounts);
  return all;
}

RC_GTEST_PROP(CreditProperty, SpendsExactlyWhatFitsAndNeverMore, ()) {
  CreditMemory credit;
  CreditAmounts granted;
  std::vector<CreditAmounts> held;
  const int steps = *rc::gen::inRange(1, 100);
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
      case 1: {
        const CreditAmounts amounts = random_amounts(20);
        const bool expected =
            fits(sum(total(held), amounts), granted) || amounts == CreditAmounts{};
        // A kind of which nothing is asked may be overdrawn by an earlier lowering.
        const CreditAmounts after = sum(total(held), amounts);
        const bool each = (amounts.owners == 0 || after.owners <= granted.owners) &&
                          (amounts.bytes == 0 || after.bytes <= granted.bytes) &&
                          (amounts.extents == 0 || after.extents <= granted.extents);
        RC_ASSERT(credit.spender.spend(amounts) == (expected || each));
        if (expected || each) held.push_back(amounts);
        break;
      }
      case 2:
        if (!held.empty()) {
          const auto which = *rc::gen::inRange<std::size_t>(0, held.size());
          credit.spender.unspend(held[which]);
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
        break;
      default:
        granted = random_amounts(100);
        credit.grantor.set_granted(granted);
        break;
    }
    RC_ASSERT(credit.grantor.consumed() == total(held));
  }
}

// The daemon's part of lowering: what it takes back and what the client holds never exceed the
// grant, whatever was spent before.
RC_GTEST_PROP(CreditProperty, LoweringNeverTakesBackWhatIsHeld, ()) {
  CreditMemory credit;
  const CreditAmounts granted = random_amounts(100);
  credit.grantor.set_granted(granted);
  CreditAmounts held;
  for (int i = 0; i < 5; ++i) {
    const CreditAmounts amounts = random_amounts(40);
    if (credit.spender.spend(amounts)) held = sum(held, amounts);
  }
  const std::uint64_t wanted = *rc::gen::inRange<std::uint64_t>(0, granted.owners + 1);
  credit.grantor.set_granted({wanted, granted.bytes, granted.extents});
  const std::uint64_t kept = std::max(wanted, credit.grantor.consumed().owners);
  RC_ASSERT(held.owners <= kept);
  RC_ASSERT(kept <= granted.owners);
}

}  // namespace
}  // namespace tentq::shm
