// Table of registered memory. See regions.h.
#include "daemon/regions.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {

RegionAccess access_of(const Region& region, const Asker& asker) {
  if (region.owner == asker.session) return RegionAccess::read_write;
  switch (region.host_scope) {
    case RegionScope::same_uid:
      return region.uid == asker.uid ? region.host_access : RegionAccess::none;
    case RegionScope::uid:
      return region.scope_id == asker.uid ? region.host_access : RegionAccess::none;
    case RegionScope::gid: {
      const auto& groups = *asker.groups;
      const bool member = std::find(groups.begin(), groups.end(), region.scope_id) != groups.end();
      return member ? region.host_access : RegionAccess::none;
    }
    case RegionScope::name:
      return region.scope_name == asker.name ? region.host_access : RegionAccess::none;
    case RegionScope::everyone: return region.host_access;
  }
  return RegionAccess::none;
}

Regions::Regions(std::uint32_t most_regions, std::uint64_t most_bytes, Dispose dispose,
                 Released released)
    : most_regions_(most_regions),
      most_bytes_(most_bytes),
      dispose_(std::move(dispose)),
      released_(std::move(released)) {}

StatusCode Regions::room_for(std::uint64_t size, std::string* why) const {
  if (count_ >= most_regions_) {
    *why = "the host's limit of " + std::to_string(most_regions_) +
           " regions is reached; unregister some or raise sessions.host_regions";
    return StatusCode::exhausted;
  }
  if (size > most_bytes_ || bytes_ > most_bytes_ - size) {
    *why = "the host's limit of " + std::to_string(most_bytes_) +
           " registered bytes is reached; unregister some or raise memory.most_bytes";
    return StatusCode::exhausted;
  }
  return StatusCode::ok;
}

StatusCode Regions::add(Region region, RegionIndex* index, std::string* why) {
  const StatusCode room = room_for(region.size, why);
  if (room != StatusCode::ok) return room;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(table_.size()));
    table_.emplace_back();
  }
  *index = RegionIndex{free_.back()};
  free_.pop_back();
  bytes_ += region.size;
  ++count_;
  region.registered = true;
  region.pins = 0;
  table_[index->value()] = std::move(region);
  return StatusCode::ok;
}

void Regions::unregister(RegionIndex index) {
  Region& region = at(index);
  TENTQ_CHECK(region.registered);
  region.registered = false;
  if (region.pins == 0) release(index);
}

void Regions::unpin(RegionIndex index) {
  Region& region = at(index);
  TENTQ_CHECK(region.pins > 0);
  if (--region.pins == 0 && !region.registered) release(index);
}

void Regions::release(RegionIndex index) {
  Region& region = at(index);
  bytes_ -= region.size;
  --count_;
  released_(region);
  dispose_(std::move(region.mapping));
  region = Region{};
  free_.push_back(index.value());
}

}  // namespace tentq
