// Holds off thread cancellation for a scope: a thread that were cancelled between reserving and
// publishing, or in the middle of a wish, would leave its session stalled for good.
#pragma once

#include <pthread.h>

namespace tentq::shm {

class CancellationHold {
 public:
  CancellationHold() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHold() { pthread_setcancelstate(before_, nullptr); }
  CancellationHold(const CancellationHold&) = delete;
  CancellationHold& operator=(const CancellationHold&) = delete;

 private:
  int before_ = 0;
};

}  // namespace tentq::shm
