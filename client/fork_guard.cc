// pthread_atfork for all clients of the process. See fork_guard.h.
#include "client/fork_guard.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace tentq::lib {

namespace {

// Never destroyed: a fork may come while static objects are being destroyed.
struct Registry {
  std::mutex mutex;
  std::vector<ForkGuard::Guarded*> all;
};
Registry& registry() {
  static Registry* const one = new Registry;
  return *one;
}

void prepare() {
  registry().mutex.lock();
  for (ForkGuard::Guarded* guarded : registry().all) guarded->before_fork();
}
void in_parent() {
  for (ForkGuard::Guarded* guarded : registry().all) guarded->after_fork_in_parent();
  registry().mutex.unlock();
}
void in_child() {
  for (ForkGuard::Guarded* guarded : registry().all) guarded->after_fork_in_child();
  registry().all.clear();
  registry().mutex.unlock();
}

}  // namespace

void ForkGuard::add(Guarded* guarded) {
  static std::once_flag installed;
  std::call_once(installed, [] { pthread_atfork(prepare, in_parent, in_child); });
  const std::lock_guard hold(registry().mutex);
  registry().all.push_back(guarded);
}

void ForkGuard::remove(Guarded* guarded) {
  const std::lock_guard hold(registry().mutex);
  std::erase(registry().all, guarded);
}

}  // namespace tentq::lib
