// See fault_gate.h.
#include "tests/transports/fault_gate.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

std::unique_ptr<FaultGate> FaultGate::make(std::size_t pages) {
  const auto fd =
      static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (fd < 0) return nullptr;
  const std::size_t size = pages * kPage;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uffdio_api api = {};
  api.api = UFFD_API;
  uffdio_register range = {};
  range.range = {reinterpret_cast<std::uintptr_t>(memory), size};
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) != 0 ||
      ioctl(fd, UFFDIO_REGISTER, &range) != 0) {
    if (memory != MAP_FAILED) munmap(memory, size);
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<FaultGate>(new FaultGate(fd, static_cast<std::byte*>(memory), size));
}

FaultGate::~FaultGate() {
  open_all();
  munmap(data_, size_);
  close(fd_);
}

bool FaultGate::wait_for_visitor() {
  uffd_msg message = {};
  if (!becomes_readable(fd_)) return false;
  if (read(fd_, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) return false;
  const std::uintptr_t address = message.arg.pagefault.address;
  visited_ = data_ + ((address - reinterpret_cast<std::uintptr_t>(data_)) & ~(kPage - 1));
  return message.event == UFFD_EVENT_PAGEFAULT;
}

bool FaultGate::provide(std::byte* page) {
  uffdio_zeropage zero = {};
  zero.range = {reinterpret_cast<std::uintptr_t>(page), kPage};
  return ioctl(fd_, UFFDIO_ZEROPAGE, &zero) == 0;  // false: it has been provided before
}

void FaultGate::open_visited() {
  provide(visited_);
}

void FaultGate::open_all() {
  for (std::size_t at = 0; at < size_; at += kPage) provide(data_ + at);
}

}  // namespace tentq::test
