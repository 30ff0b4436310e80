// Opening, closing and listing of segments for clients. Conductor thread only.
#pragma once

#include <string>

#include "daemon/control_channel.h"
#include "daemon/segments.h"
#include "daemon/settings.h"

namespace tentq {

class Hosts;
namespace directory {
class Directory;
struct Resolved;
}  // namespace directory

class SegmentRequests {
 public:
  SegmentRequests(const Settings& settings, Regions& regions, Segments& segments)
      : settings_(settings), regions_(regions), segments_(segments) {}

  // Segments of other hosts are asked for through these; once, before the first request.
  void reach(Hosts& hosts) { hosts_ = &hosts; }
  // Names without a host are looked up here; likewise.
  void look_up_in(directory::Directory& directory) { directory_ = &directory; }

  void open(ControlChannel& channel, const OpenSegment& message, Time now);
  void close(ControlChannel& channel, const CloseSegment& message);
  void list_regions(ControlChannel& channel, const SegmentRegions& message);
  // The session leaves: all its handles are closed.
  void forget(Session& session);

 private:
  bool may_open(const Session& session, const Segment& segment) const;
  void open_here(ControlChannel& channel, const OpenSegment& message, const std::string& name,
                 Time now);
  void open_elsewhere(ControlChannel& channel, const OpenSegment& message,
                      const std::string& address, const std::string& name, Time now);
  void open_by_name(ControlChannel& channel, const OpenSegment& message, const std::string& name,
                    Time now);
  void open_where(ControlChannel& channel, const OpenSegment& message, const std::string& name,
                  const directory::Resolved& found, Time now);
  void close_handle(const OpenedSegment& opened);

  const Settings& settings_;
  Regions& regions_;
  Segments& segments_;
  Hosts* hosts_ = nullptr;
  directory::Directory* directory_ = nullptr;
};

// Whether the address leaves it to the directory which host is meant: `tentq:///store-1`.
bool names_no_host(std::string_view address);

// The parts of `store-1` or `tentq://[host[:port]]/store-1`: the segment's name, and host[:port]
// unless it is this host's. invalid_argument with *why when it is malformed.
StatusCode parse_segment_address(std::string_view address, std::string* host, std::string* name,
                                 std::string* why);

}  // namespace tentq
