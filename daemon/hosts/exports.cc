// Memory that other hosts write into. See exports.h.
#include "daemon/hosts/exports.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {

std::shared_ptr<Exports::Range> Exports::range_of(RegionIndex index) const {
  const Region& region = regions_.at(index);
  auto range = std::make_shared<Range>();
  range->base = region.base;
  range->size = region.size;
  range->mapped = region.mapping.data();
  range->region = index;
  range->writable = region.remote_access == RegionAccess::read_write && !region.read_only;
  return range;
}

void Exports::open(LinkKey link, std::uint64_t handle, const Segment& segment) {
  const std::lock_guard lock(mutex_);
  const bool fresh = handles_.emplace(std::pair{link, handle}, &segment).second;
  TENTQ_CHECK(fresh);
  Exported& exported = segments_[&segment];
  if (exported.handles++ != 0) return;
  for (const RegionIndex index : segment.regions) exported.ranges.push_back(range_of(index));
}

void Exports::release(const Segment* segment) {
  const auto it = segments_.find(segment);
  TENTQ_CHECK(it != segments_.end() && it->second.handles > 0);
  if (--it->second.handles != 0) return;
  // What is being written into is still known as removed when its region goes.
  for (const std::shared_ptr<Range>& range : it->second.ranges) {
    if (range->pins == 0) continue;
    range->removed = true;
    regions_.pin(range->region);
    removed_.push_back(range);
  }
  segments_.erase(it);
}

void Exports::close(LinkKey link, std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = handles_.find({link, handle});
  if (it == handles_.end()) return;
  const Segment* segment = it->second;
  handles_.erase(it);
  release(segment);
}

void Exports::forget(LinkKey link) {
  const std::lock_guard lock(mutex_);
  for (auto it = handles_.lower_bound({link, 0});
       it != handles_.end() && it->first.first == link;) {
    const Segment* segment = it->second;
    it = handles_.erase(it);
    release(segment);
  }
}

void Exports::region_added(const Segment& segment, RegionIndex region) {
  const std::lock_guard lock(mutex_);
  const auto it = segments_.find(&segment);
  if (it == segments_.end()) return;
  std::vector<std::shared_ptr<Range>>& ranges = it->second.ranges;
  std::shared_ptr<Range> range = range_of(region);
  const auto at =
      std::upper_bound(ranges.begin(), ranges.end(), range->base,
                       [](std::uint64_t base, const auto& other) { return base < other->base; });
  ranges.insert(at, std::move(range));
}

void Exports::region_removed(const Segment& segment, RegionIndex region) {
  const std::lock_guard lock(mutex_);
  const auto it = segments_.find(&segment);
  if (it == segments_.end()) return;
  std::vector<std::shared_ptr<Range>>& ranges = it->second.ranges;
  const auto at = std::find_if(ranges.begin(), ranges.end(),
                               [region](const auto& range) { return range->region == region; });
  TENTQ_CHECK(at != ranges.end());
  const std::shared_ptr<Range> range = *at;
  ranges.erase(at);
  range->removed = true;
  if (range->pins == 0) return;
  regions_.pin(region);
  removed_.push_back(range);
}

void Exports::exporter_changed(const Segment& segment, Reason reason) {
  const std::lock_guard lock(mutex_);
  const auto it = segments_.find(&segment);
  if (it != segments_.end()) it->second.gone = reason;
}

void Exports::settle() {
  std::vector<RegionIndex> quiet;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(removed_, [&quiet](const std::shared_ptr<Range>& range) {
      if (range->pins != 0) return false;
      quiet.push_back(range->region);
      return true;
    });
  }
  // The last pin of a region may lead to anything.
  for (const RegionIndex region : quiet) regions_.unpin(region);
}

PinnedRange Exports::pin(LinkKey link, std::uint64_t segment, std::uint64_t offset,
                         std::uint64_t length) {
  PinnedRange answer;
  const std::lock_guard lock(mutex_);
  const auto handle = handles_.find({link, segment});
  if (handle == handles_.end()) {
    answer.reason = Reason::unknown_segment;
    return answer;
  }
  const Exported& exported = segments_.find(handle->second)->second;
  const std::vector<std::shared_ptr<Range>>& ranges = exported.ranges;
  if (exported.gone != Reason::none) {
    answer.reason = exported.gone;
    return answer;
  }
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), offset,
                       [](std::uint64_t at, const auto& range) { return at < range->base; });
  answer.reason = Reason::out_of_range;
  if (after == ranges.begin()) return answer;
  const std::shared_ptr<Range>& range = *std::prev(after);
  const std::uint64_t inside = offset - range->base;
  if (inside >= range->size || length > range->size - inside) return answer;
  if (!range->writable) {
    answer.reason = Reason::not_permitted;
    return answer;
  }
  answer.reason = Reason::none;
  answer.mapped = range->mapped + inside;
  answer.token = next_token_++;
  range->pins += 1;
  pinned_.emplace(answer.token, range);
  return answer;
}

void Exports::unpin(LinkKey, const PinnedRange& pinned) {
  const std::lock_guard lock(mutex_);
  const auto it = pinned_.find(pinned.token);
  TENTQ_CHECK(it != pinned_.end() && it->second->pins > 0);
  it->second->pins -= 1;
  pinned_.erase(it);
}

}  // namespace tentq
