// Opened segments. See segment_table.h.
#include "client/segment_table.h"

#include <algorithm>

namespace tentq::lib {

bool SegmentEntry::in_one_region(std::uint64_t offset, std::uint64_t length) const {
  const auto after = std::upper_bound(
      regions.begin(), regions.end(), offset,
      [](std::uint64_t value, const RemoteRegion& region) { return value < region.offset; });
  if (after == regions.begin()) return false;
  const RemoteRegion& region = *std::prev(after);
  const std::uint64_t inside = offset - region.offset;
  return inside < region.size && length <= region.size - inside;
}

SegmentEntry* SegmentTable::by_id(std::uint32_t id) {
  if (last_ != nullptr && last_->id == id) return last_;
  const auto it = entries_.find(id);
  if (it == entries_.end()) return nullptr;
  last_ = it->second.get();
  return last_;
}

SegmentEntry* SegmentTable::find(SegmentId id) {
  SegmentEntry* entry = by_id(static_cast<std::uint32_t>(id));
  return entry == nullptr || entry->closed ? nullptr : entry;
}

std::shared_ptr<SegmentEntry> SegmentTable::add(std::string name) {
  auto entry = std::make_shared<SegmentEntry>();
  entry->id = next_id_++;
  entry->name = std::move(name);
  entries_.emplace(entry->id, entry);
  return entry;
}

void SegmentTable::remove(std::uint32_t id) {
  last_ = nullptr;
  entries_.erase(id);
}

}  // namespace tentq::lib
