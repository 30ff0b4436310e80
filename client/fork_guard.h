// Makes clients unusable in a forked child, before the child can run: it shares the rings with its
// parent, and a second writer would break them. Thread-safe.
#pragma once

namespace tentq::lib {

class ForkGuard {
 public:
  class Guarded {
   public:
    virtual ~Guarded() = default;
    virtual void before_fork() = 0;           // in the parent; takes the short lock
    virtual void after_fork_in_parent() = 0;  // gives it back
    virtual void after_fork_in_child() = 0;   // gives it back, and everything else up
  };
  static void add(Guarded* guarded);
  static void remove(Guarded* guarded);
};

}  // namespace tentq::lib
