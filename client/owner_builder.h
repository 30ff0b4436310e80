// Merging: requests of one call that are adjacent on both sides become one owner. Writes into the
// unpublished end of a batch's arrays, so that a refused call leaves no trace.
//
// Two neighbours in the call merge only if: same direction, same local region, same segment, the
// second begins where the first ends on both sides, both lie in one known region of the segment,
// and the sum is no longer than the largest owner.
#pragma once

#include <cstdint>
#include <span>

#include "client/batch_state.h"
#include "client/owner.h"

namespace tentq::lib {

// A request that was checked, and where its two ends lie.
struct Placed {
  Op op{};
  std::uint32_t region = 0;         // Region::id
  std::uint32_t segment = 0;        // SegmentId
  std::uint64_t local_offset = 0;   // in the region
  std::uint64_t remote_offset = 0;  // in the segment
  std::uint64_t length = 0;
};

// The regions of a segment as they were when it was opened.
class RemoteRanges {
 public:
  virtual ~RemoteRanges() = default;
  // Whether one region holds all of [offset, offset + length).
  virtual bool in_one_region(std::uint64_t offset, std::uint64_t length) const = 0;
};

class OwnerBuilder {
 public:
  // Owners and tasks are filled from the front; `first_owner` is the index of owners[0] in its
  // batch.
  OwnerBuilder(std::span<Owner> owners, std::span<Task> tasks, std::uint32_t first_owner,
               std::uint32_t call, std::uint64_t largest_owner, bool merge)
      : owners_(owners),
        tasks_(tasks),
        first_owner_(first_owner),
        call_(call),
        largest_owner_(largest_owner),
        merge_(merge) {}

  void add(const Placed& next, const RemoteRanges& remote);

  std::uint32_t owners() const { return owner_count_; }
  std::uint32_t tasks() const { return task_count_; }
  std::uint64_t bytes() const { return bytes_; }  // saturates

 private:
  bool extends(const Owner& last, const Placed& next, const RemoteRanges& remote) const;

  std::span<Owner> owners_;
  std::span<Task> tasks_;
  std::uint32_t first_owner_;
  std::uint32_t call_;
  std::uint64_t largest_owner_;
  bool merge_;
  std::uint32_t owner_count_ = 0;
  std::uint32_t task_count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace tentq::lib
