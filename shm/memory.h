// Memory that two processes share: memfds, seals and mappings (Boost.Interprocess mapped_region).
// Errors are errno values; 0 is success. Nothing here throws.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/session_layout.h"
#include "shm/fd.h"

namespace tentq::shm {

// A mapping of an fd's range, unmapped at the end. Movable.
class Mapping {
 public:
  enum class Mode { read_only, read_write };

  Mapping() = default;
  // Maps [offset, offset + size) shared; offset need not be page-aligned. The whole range must lie
  // inside the file (else EINVAL). On failure the result is invalid and *error (if not null) holds
  // the errno. Of a stranger's fd call inspect_memory first: this may block on an odd file system.
  static Mapping map(int fd, std::uint64_t offset, std::uint64_t size, Mode mode, int* error);

  bool valid() const { return region_.get_size() != 0; }
  std::byte* data() const { return static_cast<std::byte*>(region_.get_address()); }
  std::size_t size() const { return region_.get_size(); }
  std::span<std::byte> bytes() const { return {data(), size()}; }

 private:
  boost::interprocess::mapped_region region_;
};

// Creates a memfd (close-on-exec, sealable, no-exec where the kernel knows it) of `size` bytes with
// every page allocated: posix_fallocate, so that a full memory is an error here (ENOSPC, ENOMEM)
// and not a SIGBUS later; ENOMEM at once for more than the host has left. `huge` asks for huge
// pages (size must be a multiple of 2 MiB).
Fd create_memory(const char* name, std::uint64_t size, bool huge, int* error);
// Makes an empty file of memory `size` bytes long with every page allocated: EFBIG over
// RLIMIT_FSIZE (without its signal), ENOSPC or ENOMEM when there is not so much.
int allocate_pages(int fd, std::uint64_t size);

// Against shrinking, growing and further seals.
int seal_size(int fd);
// Against shrinking and growing; further seals can follow.
int seal_fixed_size(int fd);
// Nobody can make a new writable mapping or write() any more; existing mappings go on. Then also as
// seal_size.
int seal_future_write(int fd);
// Against shrinking only (payload memory may grow).
int seal_shrink(int fd);

enum class MemoryKind { memfd_sealed, memfd_unsealed, tmpfs, hugetlbfs, other };
struct MemoryFacts {
  MemoryKind kind = MemoryKind::other;
  std::uint64_t size = 0;      // of the whole file
  bool sealed_shrink = false;  // cannot become shorter under us
  std::uint64_t device = 0, inode = 0;
};
// What an fd received from somebody else really is. Anything but shmem and hugetlbfs is `other`,
// with no more facts, and is not touched: its file system may be the stranger's own. Huge pages are
// `hugetlbfs`, whether memfd or file.
int inspect_memory(int fd, MemoryFacts* facts);
// True if any byte of the range is a hole (SEEK_HOLE), is allocated but was never touched, or lies
// behind the file's end. Only for fds that inspect_memory knows; of hugetlbfs holes are not seen.
bool has_holes(int fd, std::uint64_t offset, std::uint64_t size);

// MADV_POPULATE_READ/WRITE over [begin, begin + size), in steps of at most 64 MiB; after each step
// `progress(cookie, done)` (may be null) is called and may return false to stop (then ECANCELED). A
// page that cannot be had is EFAULT or ENOMEM, never a signal. On kernels without that advice
// (before 5.14) the pages are read through the kernel instead, also for `for_write`.
int populate(std::byte* begin, std::uint64_t size, bool for_write,
             bool (*progress)(void*, std::uint64_t), void* cookie);

}  // namespace tentq::shm
