// What other hosts may write into: the regions of the segments that their links have opened, for
// the threads that receive. A region that goes away takes no new pins; it stays mapped until the
// last one is dropped. Thread-safe where said; else conductor thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/segments.h"
#include "transports/tcp/peer_memory.h"

namespace tentq {

class Exports final : public PeerMemory {
 public:
  explicit Exports(Regions& regions) : regions_(regions) {}

  // The link knows the segment as `handle` from now on, with all regions that it has and gets.
  void open(LinkKey link, std::uint64_t handle, const Segment& segment);
  void close(LinkKey link, std::uint64_t handle);
  // The link is gone, with all its handles.
  void forget(LinkKey link);

  void region_added(const Segment& segment, RegionIndex region);
  void region_removed(const Segment& segment, RegionIndex region);
  // As Segments::Watcher has it.
  void exporter_changed(const Segment& segment, Reason reason);
  // Gives back the regions that were removed while they were written into and no longer are. Now
  // and then.
  void settle();

  // Of a receiving thread: any, at any time.
  PinnedRange pin(LinkKey link, std::uint64_t segment, std::uint64_t offset,
                  std::uint64_t length) override;
  void unpin(LinkKey link, const PinnedRange& range) override;

 private:
  // One region, as those threads may know it.
  struct Range {
    std::uint64_t base = 0;  // in the segment's address space
    std::uint64_t size = 0;
    std::byte* mapped = nullptr;
    RegionIndex region;
    bool writable = false;   // by other hosts
    bool removed = false;    // takes no new pins; the conductor keeps a pin of the region for it
    std::uint64_t pins = 0;  // of those threads
  };
  struct Exported {
    std::vector<std::shared_ptr<Range>> ranges;  // by base
    std::uint32_t handles = 0;
    Reason gone = Reason::none;  // why nothing of it can be reached
  };

  std::shared_ptr<Range> range_of(RegionIndex index) const;
  void release(const Segment* segment);

  Regions& regions_;
  mutable std::mutex mutex_;  // held for a lookup; over everything below
  std::map<const Segment*, Exported> segments_;
  std::map<std::pair<LinkKey, std::uint64_t>, const Segment*> handles_;
  std::map<std::uint64_t, std::shared_ptr<Range>> pinned_;  // by token
  std::uint64_t next_token_ = 1;
  std::vector<std::shared_ptr<Range>> removed_;
};

}  // namespace tentq
