// Names, handles and address resolution. See segments.h.
#include "daemon/segments.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {

StatusCode Segments::claim(const std::string& name, std::uint32_t uid, std::uint64_t incarnation,
                           SessionId session, bool reattach, Time now, Duration recovery,
                           SegmentPtr* out, std::string* why) {
  forget_old_names(now);
  auto [it, fresh] = names_.try_emplace(name);
  Binding& binding = it->second;
  if (!fresh && binding.segment->exporter.valid()) {
    *why = "the name '" + name + "' is held by another live process of uid " +
           std::to_string(binding.uid);
    return StatusCode::name_in_use;
  }
  if (!fresh && !binding.segment->expected && binding.uid != uid) {
    *why = "the name '" + name + "' was held by uid " + std::to_string(binding.uid) +
           " and stays reserved for it for a while";
    return StatusCode::name_in_use;
  }
  const bool same = !fresh && binding.segment->incarnation == incarnation;
  if (!same) {
    if (!fresh) {
      binding.segment->expected = false;  // handles to the one expected are stale now
      tell(*binding.segment, Reason::stale_handle);
    }
    binding.segment = std::make_shared<Segment>();
    binding.segment->name = name;
    binding.segment->incarnation = incarnation;
  }
  Segment& segment = *binding.segment;
  segment.uid = uid;
  segment.exporter = session;
  segment.expected = false;
  segment.recovering_until = reattach ? now + recovery : Time{};
  binding.uid = uid;
  if (same) tell(segment, Reason::none);
  *out = binding.segment;
  return StatusCode::ok;
}

void Segments::release(const SegmentPtr& segment, Time now) {
  segment->exporter = SessionId{};
  segment->recovering_until = Time{};
  TENTQ_CHECK(segment->regions.empty());
  const auto it = names_.find(segment->name);
  TENTQ_CHECK(it != names_.end());
  if (it->second.segment == segment) it->second.released = now;
}

void Segments::forget_old_names(Time now) {
  std::erase_if(names_, [&](const auto& entry) {
    const Binding& binding = entry.second;
    if (binding.segment->exporter.valid()) return false;
    if (binding.segment->expected) return binding.segment->handles == 0;
    return now - binding.released >= name_hold_;
  });
}

SegmentPtr Segments::open(const std::string& name, std::uint64_t incarnation, bool reattach,
                          Time now) {
  forget_old_names(now);
  const auto it = names_.find(name);
  if (it != names_.end()) {
    const SegmentPtr& segment = it->second.segment;
    const bool matches = incarnation == 0 || segment->incarnation == incarnation;
    const bool alive = segment->exporter.valid() || (segment->expected && reattach);
    if (matches && alive) {
      ++segment->handles;
      return segment;
    }
    if (!reattach || segment->exporter.valid() || segment->expected || !matches) return nullptr;
  }
  if (!reattach || incarnation == 0) return nullptr;
  auto segment = std::make_shared<Segment>();
  segment->name = name;
  segment->incarnation = incarnation;
  segment->expected = true;
  segment->handles = 1;
  // uid 0 as a binding never keeps anyone out: an expected segment is taken by incarnation.
  if (it == names_.end()) {
    names_[name] = Binding{segment, 0, now};
  } else {
    it->second.segment = segment;
  }
  return segment;
}

void Segments::close(const SegmentPtr& segment) {
  TENTQ_CHECK(segment->handles > 0);
  --segment->handles;
}

void Segments::add_region(Segment& segment, RegionIndex region) {
  const std::uint64_t base = regions_.at(region).base;
  const auto at = std::upper_bound(
      segment.regions.begin(), segment.regions.end(), base,
      [&](std::uint64_t value, RegionIndex other) { return value < regions_.at(other).base; });
  segment.regions.insert(at, region);
  for (Watcher* watcher : watchers_) watcher->region_added(segment, region);
}

void Segments::remove_region(Segment& segment, RegionIndex region) {
  if (std::erase(segment.regions, region) == 0) return;
  for (Watcher* watcher : watchers_) watcher->region_removed(segment, region);
}

bool Segments::overlaps(const Segment& segment, std::uint64_t base, std::uint64_t size) const {
  return std::any_of(segment.regions.begin(), segment.regions.end(), [&](RegionIndex index) {
    const Region& region = regions_.at(index);
    return base <= region.base + (region.size - 1) && region.base <= base + (size - 1);
  });
}

Resolution Segments::resolve(const Segment& segment, std::uint64_t offset, std::uint64_t length,
                             Op op, const Asker& asker, Time now) const {
  return resolve_by(segment, offset, length, op, now,
                    [&asker](const Region& region) { return access_of(region, asker); });
}

Resolution Segments::resolve_for_host(const Segment& segment, std::uint64_t offset,
                                      std::uint64_t length, Op op, Time now) const {
  return resolve_by(segment, offset, length, op, now,
                    [](const Region& region) { return region.remote_access; });
}

template <class AccessOf>
Resolution Segments::resolve_by(const Segment& segment, std::uint64_t offset, std::uint64_t length,
                                Op op, Time now, const AccessOf& access_of_region) const {
  Resolution result;
  if (segment.expected) {
    result.lookup = Lookup::pending;
    return result;
  }
  if (!segment.exporter.valid()) {
    const auto it = names_.find(segment.name);
    const bool replaced = it != names_.end() && it->second.segment.get() != &segment;
    result.reason = replaced ? Reason::stale_handle : Reason::peer_lost;
    return result;
  }
  const auto after = std::upper_bound(
      segment.regions.begin(), segment.regions.end(), offset,
      [&](std::uint64_t value, RegionIndex other) { return value < regions_.at(other).base; });
  if (after != segment.regions.begin()) {
    const RegionIndex index = *std::prev(after);
    const Region& region = regions_.at(index);
    const std::uint64_t inside = offset - region.base;
    if (inside < region.size && length <= region.size - inside) {
      const RegionAccess access = access_of_region(region);
      const bool writes = op == Op::write;
      const bool permitted = writes ? access == RegionAccess::read_write && !region.read_only
                                    : access != RegionAccess::none;
      if (!permitted) {
        result.reason = Reason::not_permitted;
        return result;
      }
      result.lookup = Lookup::found;
      result.region = index;
      result.region_offset = inside;
      return result;
    }
  }
  if (now < segment.recovering_until) {
    result.lookup = Lookup::pending;
    return result;
  }
  result.reason = Reason::out_of_range;
  return result;
}

bool Segments::has_exporter(const std::string& name) const {
  const auto it = names_.find(name);
  return it != names_.end() && it->second.segment->exporter.valid();
}

std::vector<SegmentPtr> Segments::list() const {
  std::vector<SegmentPtr> all;
  for (const auto& [name, binding] : names_) {
    if (binding.segment->exporter.valid()) all.push_back(binding.segment);
  }
  return all;
}

}  // namespace tentq
