// The client's registered memory: from an address to its region, and what is needed to register it
// again with the next daemon. Guarded by the client's lock.
//
// Invariant: ranges of regions that are registering or active never overlap, in addresses and in
// the segment's address space.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shm/fd.h"
#include "tentq/types.hpp"

namespace tentq::lib {

struct RegionEntry {
  enum class Phase : std::uint8_t {
    registering,  // the daemon has not answered yet; no transfer may use it
    active,
    retiring,  // its memory is gone for the caller; transfers that use it may still run
  };
  std::uint32_t id = 0;  // Region::id
  Phase phase = Phase::registering;
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::uint64_t segment_offset = 0;
  std::shared_ptr<shm::Fd> fd;
  std::uint64_t fd_offset = 0;
  std::uint64_t device = 0, inode = 0;  // which file it is, to find aliases
  Rights rights;
  bool sparse = false;
  std::uint32_t session_id = 0;  // RegionId in the current session; 0 = the daemon does not know it
  std::string refusal;           // why it does not, after a restart
};

class RegionRegistry {
 public:
  // The active region that holds all of [address, address + length), or null.
  RegionEntry* find(const void* address, std::size_t length);
  // Any region with this id, or null.
  RegionEntry* by_id(std::uint32_t id);
  // A region, not retiring, that shares an address or a segment offset with these; or null.
  const RegionEntry* overlapping(const void* data, std::size_t size,
                                 std::uint64_t segment_offset) const;
  // A new region in phase registering, with an id of its own; the rest is the caller's to fill in.
  RegionEntry& add(std::byte* data, std::size_t size);
  void retire(RegionEntry& entry);
  void remove(std::uint32_t id);

  using Entries = std::unordered_map<std::uint32_t, std::unique_ptr<RegionEntry>>;
  const Entries& all() const { return by_id_; }
  std::size_t count() const { return by_id_.size(); }

 private:
  void forget_address(const RegionEntry& entry);

  Entries by_id_;
  std::vector<RegionEntry*> by_address_;  // registering and active ones, sorted
  std::size_t last_ = 0;                  // where the last find() ended
  RegionEntry* last_id_ = nullptr;        // what the last by_id() found
  std::uint32_t next_id_ = 1;
};

}  // namespace tentq::lib
