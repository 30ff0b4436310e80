// Names of the host: which session exports under a name, to whom a name is bound, and what an
// opened handle still means. Conductor thread only.
//
// A name is bound to its uid: a second live holder is refused, another uid waits until the old
// holder is `name_hold` gone. A handle means one exporter (name and incarnation); when another
// process takes the name, older handles are stale.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/regions.h"
#include "proto/ids.h"
#include "proto/units.h"

namespace tentq {

// One exporter's address space. Lives as long as a handle refers to it.
struct Segment {
  std::string name;
  std::uint32_t uid = 0;
  std::uint64_t incarnation = 0;
  SessionId exporter;                // invalid: gone, or expected back
  bool expected = false;             // a restarted daemon waits for it to attach again
  Time recovering_until{};           // its regions may still be on their way
  std::vector<RegionIndex> regions;  // sorted by base
  std::uint32_t handles = 0;
};
using SegmentPtr = std::shared_ptr<Segment>;

enum class Lookup : std::uint8_t { found, pending, failed };
struct Resolution {
  Lookup lookup = Lookup::failed;
  Reason reason = Reason::none;  // of failed
  RegionIndex region;
  std::uint64_t region_offset = 0;
};

class Segments {
 public:
  // Sees the regions of a segment come and go; it must not call back.
  class Watcher {
   public:
    virtual void region_added(const Segment& segment, RegionIndex region) = 0;
    // No new owner finds it from now on. It is unregistered next.
    virtual void region_removed(const Segment& segment, RegionIndex region) = 0;
    // What handles of the segment meet from now on: peer_lost when its exporter is gone,
    // stale_handle once another has its name, none when it is back.
    virtual void exporter_changed(const Segment& segment, Reason reason) = 0;

   protected:
    ~Watcher() = default;
  };

  Segments(const Regions& regions, Duration name_hold) : regions_(regions), name_hold_(name_hold) {}
  void watch(Watcher& watcher) { watchers_.push_back(&watcher); }

  // Binds the name to an attaching session. name_in_use (with *why) when it is held.
  StatusCode claim(const std::string& name, std::uint32_t uid, std::uint64_t incarnation,
                   SessionId session, bool reattach, Time now, Duration recovery, SegmentPtr* out,
                   std::string* why);
  // The exporter goes: its regions are removed next, then release() follows.
  void begin_release(const Segment& segment) { tell(segment, Reason::peer_lost); }
  // The exporter is gone; the name stays bound to its uid for a while.
  void release(const SegmentPtr& segment, Time now);

  // The segment to open; null when there is none. `reattach`: an exporter of this incarnation is
  // expected back, so a place is kept for it.
  SegmentPtr open(const std::string& name, std::uint64_t incarnation, bool reattach, Time now);
  void close(const SegmentPtr& segment);

  void add_region(Segment& segment, RegionIndex region);
  void remove_region(Segment& segment, RegionIndex region);
  // True if a region of the segment overlaps [base, base + size).
  bool overlaps(const Segment& segment, std::uint64_t base, std::uint64_t size) const;

  // Where [offset, offset + length) lies, and whether the asker may do `op` there.
  Resolution resolve(const Segment& segment, std::uint64_t offset, std::uint64_t length, Op op,
                     const Asker& asker, Time now) const;

  // The same for another host, which has the right that regions give to other hosts.
  Resolution resolve_for_host(const Segment& segment, std::uint64_t offset, std::uint64_t length,
                              Op op, Time now) const;

  bool has_exporter(const std::string& name) const;

  // Segments with an exporter, in order of name.
  std::vector<SegmentPtr> list() const;

 private:
  struct Binding {
    SegmentPtr segment;
    std::uint32_t uid = 0;
    Time released{};  // when the last holder left
  };
  void forget_old_names(Time now);
  void tell(const Segment& segment, Reason reason) {
    for (Watcher* watcher : watchers_) watcher->exporter_changed(segment, reason);
  }
  template <class AccessOf>
  Resolution resolve_by(const Segment& segment, std::uint64_t offset, std::uint64_t length, Op op,
                        Time now, const AccessOf& access_of_region) const;

  const Regions& regions_;
  Duration name_hold_;
  std::map<std::string, Binding, std::less<>> names_;
  std::vector<Watcher*> watchers_;
};

}  // namespace tentq
