// The library's one short lock: a mutex that spins briefly before it sleeps, because what it guards
// (slots, credit, one group of cells) takes well under a microsecond.
#pragma once

#include <pthread.h>

namespace tentq::lib {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

}  // namespace tentq::lib
