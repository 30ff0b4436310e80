// Strong identifiers. Each kind is its own type, so that a slot number is never passed as an owner.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace tentq {

template <class Tag, class Rep>
class Id {
 public:
  using rep = Rep;
  static constexpr Rep kInvalid = std::numeric_limits<Rep>::max();
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr bool valid() const { return value_ != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = kInvalid;
};

// Index into the daemon's session slab; reused, so always paired with a serial where it outlives a
// turn.
using SessionId = Id<struct SessionTag, std::uint32_t>;
// Never reused within a daemon epoch; what `tentqctl clients` prints.
using ClientId = Id<struct ClientTag, std::uint64_t>;
// Index of a region in the daemon's host-wide region table.
using RegionIndex = Id<struct RegionIndexTag, std::uint32_t>;
// A region as its session names it (unique within the session, never reused).
using RegionId = Id<struct RegionTag, std::uint32_t>;
// An opened segment as the opening session names it (unique within the session, never reused).
using SegmentHandle = Id<struct SegmentTag, std::uint32_t>;
using LaneId = Id<struct LaneTag, std::uint16_t>;
// A host whose memory data goes to, as the core numbers it; several lanes may name one.
using ReceiverId = Id<struct ReceiverTag, std::uint16_t>;
// A link to another host's daemon, as this host's daemon numbers it; never reused in its life.
using LinkKey = Id<struct LinkTag, std::uint32_t>;
// Index of the fairness key (by default uid + cgroup) that a session belongs to.
using ClientKey = Id<struct ClientKeyTag, std::uint32_t>;

// An owner in the core's slab: index and the generation of that slab entry.
struct OwnerId {
  std::uint32_t index = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t generation = 0;
  constexpr auto operator<=>(const OwnerId&) const = default;
  constexpr bool valid() const { return index != std::numeric_limits<std::uint32_t>::max(); }
  // One number for logs and command lines; from_number is its inverse.
  constexpr std::uint64_t number() const { return (std::uint64_t{generation} << 32) | index; }
  static constexpr OwnerId from_number(std::uint64_t number) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  }
};

// One dispatched piece of an owner. `attempt` tells a late completion from the one waited for.
struct ChunkId {
  OwnerId owner;
  std::uint32_t attempt = 0;
  std::uint32_t ordinal = 0;
  constexpr auto operator<=>(const ChunkId&) const = default;
};

}  // namespace tentq

template <class Tag, class Rep>
struct std::hash<tentq::Id<Tag, Rep>> {
  std::size_t operator()(const tentq::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
