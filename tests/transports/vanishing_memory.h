// A mapping of an unsealed memfd, which the test can shorten under whoever touches it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

namespace tentq::test {

class VanishingMemory {
 public:
  explicit VanishingMemory(std::size_t size)
      : fd_(memfd_create("vanishing", MFD_CLOEXEC)), size_(size) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(size)) != 0) {
      throw std::runtime_error("no memfd");
    }
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no mapping");
    data_ = static_cast<std::byte*>(memory);
  }
  ~VanishingMemory() {
    munmap(data_, size_);
    close(fd_);
  }
  VanishingMemory(const VanishingMemory&) = delete;
  VanishingMemory& operator=(const VanishingMemory&) = delete;

  std::byte* data() const { return data_; }
  void shrink_to(std::size_t size) { resize(size); }
  void grow_to(std::size_t size) { resize(size); }

 private:
  void resize(std::size_t size) {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) throw std::runtime_error("ftruncate");
  }

  int fd_;
  std::size_t size_;
  std::byte* data_ = nullptr;
};

}  // namespace tentq::test
