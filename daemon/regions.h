// The host-wide table of registered memory: mappings, rights and pins. Conductor thread only.
// A region that is unregistered, or whose session is gone, stays mapped until its last pin is
// dropped: nothing that a transport may still touch is ever unmapped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/control.h"
#include "proto/ids.h"
#include "shm/memory.h"

namespace tentq {

struct Region {
  shm::Mapping mapping;
  std::uint64_t base = 0;  // in the segment's address space
  std::uint64_t size = 0;
  SessionId owner;
  ClientKey key;          // whose pinned bytes it counts for
  RegionId id;            // as its session names it
  std::uint32_t uid = 0;  // of the owner's session
  RegionAccess host_access{};
  RegionScope host_scope{};
  RegionAccess remote_access{};
  std::uint32_t scope_id = 0;
  std::string scope_name;
  bool read_only = false;                // never written, not even by its owner
  bool resident = false;                 // populated and locked
  bool registered = false;               // false: only pins keep it
  std::uint64_t unregister_request = 0;  // answered when the region is gone; 0 = nobody waits
  std::uint32_t pins = 0;
};

// Who asks for access: credentials of a session of this host.
struct Asker {
  SessionId session;
  std::uint32_t uid = 0;
  const std::vector<gid_t>* groups = nullptr;  // with the primary group
  std::string_view name;
};
RegionAccess access_of(const Region& region, const Asker& asker);

class Regions {
 public:
  // Takes a mapping whose unmapping may take long, off the conductor.
  using Dispose = std::function<void(shm::Mapping)>;

  // The region is about to be forgotten: unregistered and without pins.
  using Released = std::function<void(const Region&)>;

  Regions(std::uint32_t most_regions, std::uint64_t most_bytes, Dispose dispose, Released released);

  // exhausted (with *why) when a host limit is reached.
  StatusCode add(Region region, RegionIndex* index, std::string* why);
  // No new pins from now on; disposed of at the last unpin.
  void unregister(RegionIndex index);
  void pin(RegionIndex index) { ++at(index).pins; }
  void unpin(RegionIndex index);

  Region& at(RegionIndex index) { return table_[index.value()]; }
  const Region& at(RegionIndex index) const { return table_[index.value()]; }
  std::uint32_t count() const { return count_; }
  std::uint64_t registered_bytes() const { return bytes_; }
  // Room for a reservation of `size` more bytes, checked before the memory is populated.
  StatusCode room_for(std::uint64_t size, std::string* why) const;

 private:
  void release(RegionIndex index);

  std::vector<Region> table_;
  std::vector<std::uint32_t> free_;
  std::uint32_t most_regions_;
  std::uint64_t most_bytes_;
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;
  Dispose dispose_;
  Released released_;
};

}  // namespace tentq
