// Memory whose first touch waits until the test allows it (userfaultfd): stops a copying thread at
// a place of the test's choosing.
#pragma once

#include <cstddef>
#include <memory>

namespace tentq::test {

class FaultGate {
 public:
  // Closed memory of `pages` pages. Null where the kernel does not let this process have it.
  static std::unique_ptr<FaultGate> make(std::size_t pages);
  ~FaultGate();
  FaultGate(const FaultGate&) = delete;
  FaultGate& operator=(const FaultGate&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Until a thread waits at a page that is closed; false after ten seconds.
  bool wait_for_visitor();
  // Lets everybody touch the page that was visited last.
  void open_visited();
  // Lets everybody touch everything from now on.
  void open_all();

 private:
  FaultGate(int fd, std::byte* data, std::size_t size) : fd_(fd), data_(data), size_(size) {}
  bool provide(std::byte* page);

  int fd_;
  std::byte* data_;
  std::size_t size_;
  std::byte* visited_ = nullptr;
};

}  // namespace tentq::test
