// Segments of this host that links of other hosts have opened, by the handles they were given.
// Conductor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/hosts/exports.h"
#include "daemon/segments.h"
#include "proto/peer.h"

namespace tentq {

class InboundSegments {
 public:
  using Answer = std::function<void(LinkKey link, const PeerSegment& answer)>;

  // `budget`: how long an exporter that is expected back is waited for; after `start`, when this
  // daemon started, for as long none is expected that is not here.
  InboundSegments(const Regions& regions, Segments& segments, Exports& exports, Duration budget,
                  std::uint32_t most_handles, Time start, Answer answer)
      : regions_(regions),
        segments_(segments),
        exports_(exports),
        budget_(budget),
        most_handles_(most_handles),
        expects_until_(start + budget),
        answer_(std::move(answer)) {}

  // Answered at once, or when an exporter that is expected back is there.
  void open(LinkKey link, const PeerOpenSegment& message, Time now);
  void close(LinkKey link, std::uint64_t handle);
  // The link is gone, with its handles.
  void forget(LinkKey link);
  // What waits for exporters that are expected back.
  void retry(Time now);

  // Where a READ of that link lies, or why it may not be.
  Resolution resolve(LinkKey link, std::uint64_t handle, std::uint64_t offset, std::uint64_t length,
                     Op op, Time now) const;
  // The segment behind a handle; null with why not.
  SegmentPtr find(LinkKey link, std::uint64_t handle, Reason* reason) const;
  PeerRegions list(LinkKey link, const PeerListRegions& message) const;
  std::size_t handles() const { return handles_.size(); }

 private:
  struct Handle {
    SegmentPtr segment;
    std::uint64_t incarnation = 0;
  };
  struct Waiting {
    LinkKey link;
    PeerOpenSegment message;
    SegmentPtr segment;  // holds one of its handles
    Time give_up{};
  };

  void decide(LinkKey link, const PeerOpenSegment& message, const SegmentPtr& segment);
  void refuse(LinkKey link, const PeerOpenSegment& message, StatusCode status,
              const std::string& text);
  bool is_recovering(const Segment& segment, std::uint64_t regions, Time now) const;
  std::uint64_t shared_regions(const Segment& segment) const;

  const Regions& regions_;
  Segments& segments_;
  Exports& exports_;
  Duration budget_;
  std::uint32_t most_handles_;  // of all links
  Time expects_until_;
  Answer answer_;
  std::map<std::pair<LinkKey, std::uint64_t>, Handle> handles_;
  std::vector<Waiting> waiting_;
  std::uint64_t next_handle_ = 1;
};

}  // namespace tentq
