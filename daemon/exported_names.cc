// See exported_names.h.
#include "daemon/exported_names.h"

#include <algorithm>

#include "daemon/conductor.h"

namespace tentq {

void ExportedNames::region_added(const Segment& segment, RegionIndex region) {
  if (!is_for_others(region) || !names_.insert(segment.name).second) return;
  directory_.publish(segment.name, monotonic_now());
}

void ExportedNames::region_removed(const Segment& segment, RegionIndex) {
  if (!names_.contains(segment.name)) return;
  const auto& left = segment.regions;
  if (std::any_of(left.begin(), left.end(), [&](RegionIndex each) { return is_for_others(each); }))
    return;
  withdraw(segment.name);
}

void ExportedNames::exporter_changed(const Segment& segment, Reason reason) {
  // Back with its regions, or on its way: they are told one by one.
  if (reason != Reason::none) withdraw(segment.name);
}

void ExportedNames::withdraw(const std::string& name) {
  if (names_.erase(name) != 0) directory_.withdraw(name, monotonic_now());
}

}  // namespace tentq
