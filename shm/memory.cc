// memfds, seals, mappings and what a received fd really is. Callable from any thread.
#include "shm/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/interprocess/exceptions.hpp>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace tentq::shm {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
// Above it the host is asked first: the kernel itself would go on until it kills somebody.
constexpr std::uint64_t kAskFirst = std::uint64_t{64} << 20;
constexpr std::uint64_t kPopulateStep = std::uint64_t{64} << 20;
constexpr std::uint64_t kLargestFile = std::numeric_limits<std::int64_t>::max();

// What mapped_region wants to see of a file descriptor; closes nothing.
class MappableFd {
 public:
  MappableFd(int fd, boost::interprocess::mode_t mode) : fd_(fd), mode_(mode) {}
  boost::interprocess::mapping_handle_t get_mapping_handle() const {
    return boost::interprocess::ipcdetail::mapping_handle_from_file_handle(fd_);
  }
  boost::interprocess::mode_t get_mode() const { return mode_; }

 private:
  int fd_;
  boost::interprocess::mode_t mode_;
};

// What the host can still give: free, reclaimable and swap; everything when it does not say.
std::uint64_t memory_left() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t left_kib = 0;
  bool told = false;
  for (std::string key, line; file >> key && std::getline(file, line);) {
    if (key != "MemAvailable:" && key != "SwapFree:") continue;
    left_kib += std::strtoull(line.c_str(), nullptr, 10);
    told = true;
  }
  return told ? left_kib << 10 : kLargestFile;
}

Fd create_memfd(const char* name, bool huge) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
  const int fd = ::memfd_create(name, flags | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return Fd(fd);
  return Fd(::memfd_create(name, flags));
}

int add_seals(int fd, int seals) {
  return ::fcntl(fd, F_ADD_SEALS, seals) == 0 ? 0 : errno;
}

// The device that every memfd lies on, and no mounted tmpfs; 0 if it cannot be told.
std::uint64_t memfd_device() {
  static const std::uint64_t device = [] {
    const Fd probe = create_memfd("tentq-probe", false);
    struct stat facts {};
    const bool known = probe.valid() && ::fstat(probe.get(), &facts) == 0;
    return known ? static_cast<std::uint64_t>(facts.st_dev) : 0;
  }();
  return device;
}

// Reads one byte of every page through the kernel: an unreachable page is EFAULT, not a SIGBUS.
int touch_for_read(std::byte* begin, std::uint64_t size) {
  constexpr std::size_t kBatch = 256;
  std::array<iovec, kBatch> pages;
  std::array<std::byte, kBatch> sink;
  for (std::uint64_t done = 0; done < size;) {
    std::size_t count = 0;
    for (; count < kBatch && done < size; ++count, done += kPage) pages[count] = {begin + done, 1};
    iovec into{sink.data(), count};
    const ssize_t got = ::process_vm_readv(::getpid(), &into, 1, pages.data(), count, 0);
    if (got < 0) return errno;
    if (static_cast<std::size_t>(got) != count) return EFAULT;
  }
  return 0;
}

int populate_step(std::byte* begin, std::uint64_t size, bool for_write) {
  const int advice = for_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  for (;;) {
    if (::madvise(begin, size, advice) == 0) return 0;
    if (errno == EINVAL) return touch_for_read(begin, size);
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
}

}  // namespace

Mapping Mapping::map(int fd, std::uint64_t offset, std::uint64_t size, Mode mode, int* error) {
  namespace ipc = boost::interprocess;
  int ignored = 0;
  int& failure = error != nullptr ? *error : ignored;
  failure = 0;
  Mapping result;
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    failure = errno;
    return result;
  }
  const auto whole = static_cast<std::uint64_t>(facts.st_size);
  // Pages behind the file's end would be a SIGBUS for whoever touches them.
  if (size == 0 || offset > whole || size > whole - offset) {
    failure = EINVAL;
    return result;
  }
  const ipc::mode_t ipc_mode = mode == Mode::read_only ? ipc::read_only : ipc::read_write;
  try {
    ipc::mapped_region region(MappableFd(fd, ipc_mode), ipc_mode,
                              static_cast<ipc::offset_t>(offset), size);
    result.region_.swap(region);
  } catch (const ipc::interprocess_exception& exception) {
    failure = exception.get_native_error() != 0 ? exception.get_native_error() : EINVAL;
  }
  return result;
}

int allocate_pages(int fd, std::uint64_t size) {
  if (size == 0) return EINVAL;
  rlimit limit{};
  // Over RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the process.
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      size > limit.rlim_cur) {
    return EFBIG;
  }
  if (size > kLargestFile) return EFBIG;
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return errno;
  int failure = 0;
  do {
    failure = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (failure == EINTR);
  return failure;
}

Fd create_memory(const char* name, std::uint64_t size, bool huge, int* error) {
  int failure = 0;
  Fd fd;
  if (size == 0 || (huge && size % kHugePage != 0)) {
    failure = EINVAL;
  } else if (!huge && size > kAskFirst && size <= kLargestFile && size > memory_left()) {
    failure = ENOMEM;
  } else {
    fd = create_memfd(name, huge);
    failure = fd.valid() ? allocate_pages(fd.get(), size) : errno;
  }
  if (error != nullptr) *error = failure;
  if (failure != 0) fd.reset();
  return fd;
}

int seal_size(int fd) {
  return add_seals(fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int seal_future_write(int fd) {
  return add_seals(fd, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int seal_fixed_size(int fd) {
  return add_seals(fd, F_SEAL_SHRINK | F_SEAL_GROW);
}

int seal_shrink(int fd) {
  return add_seals(fd, F_SEAL_SHRINK);
}

int inspect_memory(int fd, MemoryFacts* facts) {
  *facts = MemoryFacts{};
  // First, and alone for foreign files: only shmem and hugetlbfs know seals, and the answer never
  // leaves the kernel's memory. fstat or fstatfs of a client's FUSE file could hang for ever.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return errno == EINVAL ? 0 : errno;
  struct stat file {};
  struct statfs system {};
  if (::fstat(fd, &file) != 0 || ::fstatfs(fd, &system) != 0) return errno;
  if (!S_ISREG(file.st_mode)) return 0;
  facts->size = static_cast<std::uint64_t>(file.st_size);
  facts->device = file.st_dev;
  facts->inode = file.st_ino;
  facts->sealed_shrink = (seals & F_SEAL_SHRINK) != 0;
  if (system.f_type == HUGETLBFS_MAGIC) {
    facts->kind = MemoryKind::hugetlbfs;
  } else if (facts->sealed_shrink) {
    facts->kind = MemoryKind::memfd_sealed;  // a file of a mounted tmpfs cannot be sealed
  } else {
    const bool memfd = facts->device == memfd_device();
    facts->kind = memfd ? MemoryKind::memfd_unsealed : MemoryKind::tmpfs;
  }
  return 0;
}

bool has_holes(int fd, std::uint64_t offset, std::uint64_t size) {
  if (offset > kLargestFile || size > kLargestFile - offset) return true;
  const off_t hole = ::lseek(fd, static_cast<off_t>(offset), SEEK_HOLE);
  return hole < 0 || static_cast<std::uint64_t>(hole) < offset + size;
}

int populate(std::byte* begin, std::uint64_t size, bool for_write,
             bool (*progress)(void*, std::uint64_t), void* cookie) {
  // madvise wants whole pages; the mapping covers them even where the range begins inside one.
  const std::uint64_t lead = reinterpret_cast<std::uintptr_t>(begin) % kPage;
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t skip = done == 0 ? lead : 0;
    const std::uint64_t step = std::min(kPopulateStep - skip, size - done);
    const int failure = populate_step(begin + done - skip, step + skip, for_write);
    if (failure != 0) return failure;
    done += step;
    if (progress != nullptr && !progress(cookie, done)) return ECANCELED;
  }
  return 0;
}

}  // namespace tentq::shm
