// Opened segments: from the id that callers use, which never changes, to the handle of the current
// session. Guarded by the client's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/owner_builder.h"
#include "tentq/types.hpp"

namespace tentq::lib {

struct SegmentEntry final : RemoteRanges {
  std::uint32_t id = 0;               // SegmentId
  std::string name;                   // as it was opened
  std::uint64_t incarnation = 0;      // of its exporter
  std::uint32_t handle = 0;           // SegmentHandle of the current session; 0 = not open
  bool closed = false;                // no Segment refers to it any more
  bool own = false;                   // this client exports it
  std::string refusal;                // why it is not open, after a restart
  std::vector<RemoteRegion> regions;  // when it was opened, sorted; used for merging only

  bool in_one_region(std::uint64_t offset, std::uint64_t length) const override;
};

class SegmentTable {
 public:
  // Null: never opened or closed.
  SegmentEntry* find(SegmentId id);
  // As find(), also when closed but still kept for transfers to repeat.
  SegmentEntry* by_id(std::uint32_t id);
  std::shared_ptr<SegmentEntry> add(std::string name);
  void remove(std::uint32_t id);

  using Entries = std::unordered_map<std::uint32_t, std::shared_ptr<SegmentEntry>>;
  const Entries& all() const { return entries_; }

 private:
  Entries entries_;
  SegmentEntry* last_ = nullptr;  // of the last find()
  std::uint32_t next_id_ = 1;
};

}  // namespace tentq::lib
