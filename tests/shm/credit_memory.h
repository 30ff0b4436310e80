// The words of one class's credit in ordinary memory, with both of its ends.
#pragma once

#include "shm/credit.h"

namespace tentq::shm {

struct CreditMemory {
  CreditCounters consumed{};
  CreditCounters granted{};
  CreditWish wanted{};
  CreditSpender spender{&consumed, &granted, &wanted};
  CreditGrantor grantor{&consumed, &granted, &wanted};
};

}  // namespace tentq::shm
