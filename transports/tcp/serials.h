// Numbers of connections, a few bits wide: each is free when it is given, and the one that ended
// longest ago comes first. However many connections a peer makes, they do not run out.
#pragma once

#include <cstdint>

#include "proto/check.h"

namespace tentq {

class Serials {
 public:
  // 1 … most; more than are ever in use at once.
  explicit Serials(std::uint32_t most) : most_(most) {}

  template <class InUse>
  std::uint32_t next(const InUse& in_use) {
    for (std::uint32_t tried = 0; tried < most_; ++tried) {
      last_ = last_ % most_ + 1;
      if (!in_use(last_)) return last_;
    }
    TENTQ_CHECK(false && "more connections than numbers");
    return 0;
  }

 private:
  const std::uint32_t most_;
  std::uint32_t last_ = 0;
};

}  // namespace tentq
