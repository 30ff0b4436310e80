// Registered memory by address and by id. See region_registry.h.
#include "client/region_registry.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq::lib {

namespace {

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

bool holds(const RegionEntry& entry, const void* address, std::size_t length) {
  const std::uintptr_t offset = number(address) - number(entry.data);  // wraps if before it
  return offset < entry.size && length <= entry.size - offset;
}

bool overlap(std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
  return a <= b + (b_size - 1) && b <= a + (a_size - 1);
}

}  // namespace

RegionEntry* RegionRegistry::find(const void* address, std::size_t length) {
  using Phase = RegionEntry::Phase;
  if (last_ < by_address_.size() && holds(*by_address_[last_], address, length)) {
    RegionEntry* entry = by_address_[last_];
    return entry->phase == Phase::active ? entry : nullptr;
  }
  const auto after = std::upper_bound(
      by_address_.begin(), by_address_.end(), number(address),
      [](std::uintptr_t value, const RegionEntry* entry) { return value < number(entry->data); });
  if (after == by_address_.begin()) return nullptr;
  RegionEntry* entry = *std::prev(after);
  if (entry->phase != Phase::active || !holds(*entry, address, length)) return nullptr;
  last_ = static_cast<std::size_t>(std::prev(after) - by_address_.begin());
  return entry;
}

RegionEntry* RegionRegistry::by_id(std::uint32_t id) {
  if (last_id_ != nullptr && last_id_->id == id) return last_id_;
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  last_id_ = it->second.get();
  return last_id_;
}

const RegionEntry* RegionRegistry::overlapping(const void* data, std::size_t size,
                                               std::uint64_t segment_offset) const {
  for (const RegionEntry* entry : by_address_) {
    if (overlap(number(data), size, number(entry->data), entry->size) ||
        overlap(segment_offset, size, entry->segment_offset, entry->size)) {
      return entry;
    }
  }
  return nullptr;
}

RegionEntry& RegionRegistry::add(std::byte* data, std::size_t size) {
  auto entry = std::make_unique<RegionEntry>();
  entry->id = next_id_++;
  entry->data = data;
  entry->size = size;
  RegionEntry& added = *entry;
  by_id_.emplace(added.id, std::move(entry));
  const auto at = std::upper_bound(
      by_address_.begin(), by_address_.end(), number(data),
      [](std::uintptr_t value, const RegionEntry* other) { return value < number(other->data); });
  by_address_.insert(at, &added);
  return added;
}

void RegionRegistry::forget_address(const RegionEntry& entry) {
  std::erase(by_address_, &entry);
  last_ = 0;
}

void RegionRegistry::retire(RegionEntry& entry) {
  entry.phase = RegionEntry::Phase::retiring;
  forget_address(entry);
}

void RegionRegistry::remove(std::uint32_t id) {
  const auto it = by_id_.find(id);
  TENTQ_CHECK(it != by_id_.end());
  forget_address(*it->second);
  last_id_ = nullptr;
  by_id_.erase(it);
}

}  // namespace tentq::lib
