// Making, sealing and mapping REQ and STA. The order matters: STA is mapped writable by the daemon
// before it is sealed, and nobody gets its fd before that.
#include "shm/session_memory.h"

#include <errno.h>
#include <fcntl.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace tentq::shm {
namespace {

constexpr std::uint32_t kMostRingCells = 1u << 15;  // group sizes are 16 bits wide
constexpr std::uint32_t kMostSlots = 1u << 22;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

int create_area(const char* name, std::uint64_t bytes, Fd* fd, Mapping* mapping) {
  int failure = 0;
  *fd = create_memory(name, bytes, false, &failure);
  if (failure != 0) return failure;
  *mapping = Mapping::map(fd->get(), 0, bytes, Mapping::Mode::read_write, &failure);
  if (failure != 0) return failure;
  return populate(mapping->data(), bytes, true, nullptr, nullptr);
}

bool is_area(int fd, std::uint64_t bytes, int seals) {
  MemoryFacts facts;
  return inspect_memory(fd, &facts) == 0 && facts.kind == MemoryKind::memfd_sealed &&
         facts.size == bytes && (::fcntl(fd, F_GET_SEALS) & seals) == seals;
}

}  // namespace

bool is_valid(const SessionSizes& sizes) {
  const bool ring_ok = sizes.ring_cells != 0 && sizes.ring_cells <= kMostRingCells &&
                       (sizes.ring_cells & (sizes.ring_cells - 1)) == 0 &&
                       sizes.ring_reserved < sizes.ring_cells;
  const bool classes_ok = sizes.class_mask != 0 && (sizes.class_mask >> kMaxClasses) == 0;
  return ring_ok && classes_ok && sizes.slots != 0 && sizes.slots <= kMostSlots &&
         sizes.reserved == 0;
}

int create_session_memory(const SessionSizes& sizes, OwnedSessionMemory* out) {
  if (!is_valid(sizes)) return EINVAL;
  const SessionLayout layout(sizes);
  OwnedSessionMemory made;
  int failure = create_area("tentq-req", layout.req_bytes(), &made.req_fd, &made.req);
  if (failure == 0) failure = create_area("tentq-sta", layout.sta_bytes(), &made.sta_fd, &made.sta);
  // REQ takes its last seal when the client has mapped it: seal_requests.
  if (failure == 0) failure = seal_fixed_size(made.req_fd.get());
  if (failure == 0) failure = seal_future_write(made.sta_fd.get());
  if (failure != 0) return failure;
  made.view = SessionView(made.req.data(), made.sta.data(), sizes);
  StaHeader* sta = made.view.sta();
  sta->magic = kStaMagic;
  sta->layout_hash = kLayoutHash;
  sta->state.store(static_cast<std::uint32_t>(DaemonState::starting), std::memory_order_relaxed);
  *out = std::move(made);
  return 0;
}

int seal_requests(const OwnedSessionMemory& memory) {
  return seal_future_write(memory.req_fd.get());
}

int map_session_memory(int req_fd, int sta_fd, const SessionSizes& sizes,
                       MappedSessionMemory* out) {
  if (!is_valid(sizes)) return EINVAL;
  const SessionLayout layout(sizes);
  if (!is_area(req_fd, layout.req_bytes(), kSizeSeals) ||
      !is_area(sta_fd, layout.sta_bytes(), kSizeSeals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)) {
    return EPROTO;
  }
  int failure = 0;
  MappedSessionMemory mapped;
  mapped.req = Mapping::map(req_fd, 0, layout.req_bytes(), Mapping::Mode::read_write, &failure);
  if (failure != 0) return failure;
  mapped.sta = Mapping::map(sta_fd, 0, layout.sta_bytes(), Mapping::Mode::read_only, &failure);
  if (failure != 0) return failure;
  mapped.view = SessionView(mapped.req.data(), mapped.sta.data(), sizes);
  if (mapped.view.sta()->magic != kStaMagic || mapped.view.sta()->layout_hash != kLayoutHash) {
    return EPROTO;
  }
  *out = std::move(mapped);
  return 0;
}

}  // namespace tentq::shm
