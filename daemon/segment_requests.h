// Opening, closing and listing of segments for clients. Conductor thread only.
#pragma once

#include <string>

#include "daemon/control_channel.h"
#include "daemon/segments.h"
#include "daemon/settings.h"

namespace tentq {

class SegmentRequests {
 public:
  SegmentRequests(const Settings& settings, Regions& regions, Segments& segments)
      : settings_(settings), regions_(regions), segments_(segments) {}

  void open(ControlChannel& channel, const OpenSegment& message, Time now);
  void close(ControlChannel& channel, const CloseSegment& message);
  void list_regions(ControlChannel& channel, const SegmentRegions& message);
  // The session leaves: all its handles are closed.
  void forget(Session& session);

 private:
  bool may_open(const Session& session, const Segment& segment) const;

  const Settings& settings_;
  Regions& regions_;
  Segments& segments_;
};

// The segment part of `store-1` or `tentq://host[:port]/store-1`; false with *why when the address
// is malformed (invalid_argument) or names another host (no_route).
StatusCode parse_segment_address(std::string_view address, std::string* name, std::string* why);

}  // namespace tentq
