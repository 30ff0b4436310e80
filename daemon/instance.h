// One daemon per host and its life: the lock that keeps a second one out, and the epoch.
#pragma once

#include <boost/interprocess/sync/file_lock.hpp>
#include <memory>
#include <string>

#include "daemon/attach.h"

namespace tentq {

class InstanceLock {
 public:
  // False with *why (naming the process that holds it) when another daemon runs.
  bool acquire(const std::string& path, std::string* why);

 private:
  // Held until the process ends; the kernel drops it with the process, however that ends.
  std::unique_ptr<boost::interprocess::file_lock> lock_;
};

// Counts this start in the state directory (replaced by rename) and adds a random number. False
// with *why when the directory cannot be written.
bool begin_epoch(const std::string& state_directory, Epoch* epoch, std::string* why);

}  // namespace tentq
