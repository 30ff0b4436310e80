// REQ and STA of one session: made and sealed by the daemon, mapped by the client.
#pragma once

#include <cstdint>

#include "proto/session_layout.h"
#include "shm/fd.h"
#include "shm/memory.h"

namespace tentq::shm {

// Typed pointers into the two areas; valid while the mappings live.
class SessionView {
 public:
  SessionView() : layout_(SessionSizes{}) {}
  SessionView(std::byte* req, std::byte* sta, const SessionSizes& sizes)
      : layout_(sizes), req_(req), sta_(sta) {}
  ReqHeader* req() const { return reinterpret_cast<ReqHeader*>(req_); }
  StaHeader* sta() const { return reinterpret_cast<StaHeader*>(sta_); }
  Cell* ring(ClassId cls) const { return reinterpret_cast<Cell*>(req_ + layout_.ring_offset(cls)); }
  std::byte* arena() const { return req_ + layout_.arena_offset(); }
  std::atomic<std::uint64_t>* dirty() const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(sta_ + layout_.dirty_offset());
  }
  Slot* slots() const { return reinterpret_cast<Slot*>(sta_ + layout_.slots_offset()); }
  const SessionLayout& layout() const { return layout_; }

 private:
  SessionLayout layout_;
  std::byte* req_ = nullptr;
  std::byte* sta_ = nullptr;
};

// Whether an area can be laid out so: rings a power of two with room beside the reserve, at least
// one slot, only classes that a client can have, and sums that stay far from wrapping.
bool is_valid(const SessionSizes& sizes);

// The daemon's end. STA is mapped writable here first and then sealed against every other writer.
struct OwnedSessionMemory {
  Fd req_fd, sta_fd;
  Mapping req, sta;
  SessionView view;
};
// errno of what failed (EINVAL, ENOSPC, ENOMEM, EMFILE …), or 0. Every page is allocated and
// touched. STA's magic and layout hash are written and its state is `starting`; the epoch is the
// caller's.
int create_session_memory(const SessionSizes& sizes, OwnedSessionMemory* out);
// After the client's `mapped`: no further writable mapping of REQ can be made. An error (the client
// sealed it otherwise, EPERM) means that the session must be refused.
int seal_requests(const OwnedSessionMemory& memory);

// The client's end; checks the sizes of both fds and the seals of STA before it maps anything.
struct MappedSessionMemory {
  Mapping req, sta;
  SessionView view;
};
// errno: EINVAL impossible sizes, EPROTO wrong kind, size, seal, magic or layout, else mmap's.
int map_session_memory(int req_fd, int sta_fd, const SessionSizes& sizes, MappedSessionMemory* out);

}  // namespace tentq::shm
