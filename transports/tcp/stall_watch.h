// Whether something that should move has stood still for too long. It is looked at now and then, so
// that moving costs a flag and no clock.
#pragma once

#include "proto/units.h"

namespace tentq {

class StallWatch {
 public:
  void moved() { moved_ = true; }

  // `due`: something should move. True if nothing has for `limit`, within one look more.
  bool stalled(bool due, Time now, Duration limit) {
    if (!due || moved_ || !watching_) {
      moved_ = false;
      watching_ = due;
      quiet_since_ = now;
      return false;
    }
    return now - quiet_since_ >= limit;
  }

 private:
  bool moved_ = false;
  bool watching_ = false;  // it was due at the last look
  Time quiet_since_{};
};

}  // namespace tentq
