// Signals of the threads that transports make: the process's own threads take all but the faults.
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

#include "proto/check.h"

namespace tentq {

// While it lives, threads that are made inherit a mask that leaves every signal but the faults to
// the other threads of the process.
class FaultsOnly {
 public:
  FaultsOnly() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT})
      sigdelset(&blocked, fault);
    TENTQ_CHECK(pthread_sigmask(SIG_SETMASK, &blocked, &before_) == 0);
  }
  ~FaultsOnly() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  FaultsOnly(const FaultsOnly&) = delete;
  FaultsOnly& operator=(const FaultsOnly&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tentq
