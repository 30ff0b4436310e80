// What the receiving threads of the TCP transport ask the daemon: may this host's peer write there,
// and where is it mapped. The daemon implements it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/ids.h"
#include "proto/status.h"

namespace tentq {

// The answer to pin().
struct PinnedRange {
  std::byte* mapped = nullptr;   // where the range begins in this process; null = refused
  Reason reason = Reason::none;  // of the refusal
  std::uint64_t token = 0;       // the implementation's own, for unpin()
};

// Called by the transport's threads, several at once; neither call may block or call the transport.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  // For writing into [offset, offset + length) of the segment that the link knows by `segment`.
  // All come from the peer: offset + length does not wrap and length is 1 to most_length, nothing
  // else is known of them. The range stays mapped until unpin().
  virtual PinnedRange pin(LinkKey link, std::uint64_t segment, std::uint64_t offset,
                          std::uint64_t length) = 0;
  // Nothing writes there any more. Once for each range that was not refused.
  virtual void unpin(LinkKey link, const PinnedRange& range) = 0;
};

}  // namespace tentq
