// What a request must satisfy before anything is published: everything that the library can know.
#include "client/client_state.h"

namespace tentq::lib {

namespace {

[[gnu::cold]] Status invalid(std::size_t index, const std::string& what) {
  return {Code::invalid_argument, "request " + std::to_string(index) + ": " + what};
}

bool overlap(std::uint64_t a, std::uint64_t b, std::uint64_t length) {
  return a < b ? b - a < length : a - b < length;
}

}  // namespace

Status ClientState::place(const Request& request, std::size_t index, Placed* placed,
                          const SegmentEntry** segment) {
  if (request.op != Opcode::read && request.op != Opcode::write) {
    return invalid(index, "unknown direction");
  }
  if (request.length == 0) return invalid(index, "length 0");
  const RegionEntry* local = regions_.find(request.local, request.length);
  if (local == nullptr) {
    return invalid(index, "its local range is not inside one registered region");
  }
  if (local->session_id == 0 && !local->refusal.empty()) {
    return invalid(index, "its region is not registered any more: " + local->refusal);
  }
  if (request.op == Opcode::read && local->rights.read_only) {
    return {Code::not_permitted,
            "request " + std::to_string(index) + ": its region was registered read-only"};
  }
  const SegmentEntry* remote = segments_.find(request.segment);
  if (remote == nullptr) return invalid(index, "unknown or closed segment");
  if (remote->handle == 0 && !remote->refusal.empty()) {
    return {Code::stale_handle, "request " + std::to_string(index) + ": segment '" + remote->name +
                                    "' must be opened again: " + remote->refusal};
  }
  if (request.length > UINT64_MAX - request.remote_offset) {
    return invalid(index, "its remote range wraps around 2^64");
  }
  const auto local_offset =
      static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(request.local) -
                                 reinterpret_cast<std::uintptr_t>(local->data));
  if (remote->own) {
    Status status = check_aliasing(request, index, *local, local_offset);
    if (!status.ok()) return status;
  }
  *placed = {static_cast<Op>(request.op), local->id,     remote->id, local_offset,
             request.remote_offset,       request.length};
  *segment = remote;
  return {};
}

// Of a request to oneself: source and target must not share a byte. Regions may be aliases of one
// file, so what counts are the file and the offset in it.
Status ClientState::check_aliasing(const Request& request, std::size_t index,
                                   const RegionEntry& local, std::uint64_t local_offset) {
  for (const auto& [id, target] : regions_.all()) {
    const std::uint64_t inside = request.remote_offset - target->segment_offset;
    if (inside >= target->size || target->phase != RegionEntry::Phase::active) continue;
    const bool same_file = target->device == local.device && target->inode == local.inode;
    if (same_file &&
        overlap(local.fd_offset + local_offset, target->fd_offset + inside, request.length)) {
      return invalid(index, "source and target overlap");
    }
  }
  return {};
}

}  // namespace tentq::lib
