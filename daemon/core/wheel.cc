// Buckets and cascades of the timing wheel.
#include "daemon/core/wheel.h"

#include <algorithm>
#include <bit>

namespace tentq::core {

Wheel::Wheel(OwnerTable* owners) : owners_(owners) {
  heads_.fill(kNone);
}

void Wheel::set(std::uint32_t owner) {
  const std::int64_t due_ns = owners_->extras(owner).due_ns;
  (*owners_)[owner].flags |= kInWheel;
  const std::uint64_t tick =
      link(owner, due_ns <= 0 ? 0 : static_cast<std::uint64_t>(due_ns) >> kShift);
  const std::int64_t look_ns = static_cast<std::int64_t>(tick << kShift);
  if (count_ == 0 || look_ns < next_ns_) next_ns_ = look_ns;
  count_ += 1;
}

std::uint64_t Wheel::link(std::uint32_t owner, std::uint64_t due_tick) {
  const std::uint64_t farthest = current_ + (std::uint64_t{1} << 8 * kLevels) - 1;
  const std::uint64_t tick = std::clamp(due_tick, current_, farthest);
  std::uint32_t level = 0;
  while ((tick - current_) >> 8 * (level + 1) != 0) level += 1;
  const std::uint32_t slot = static_cast<std::uint32_t>(tick >> 8 * level) % kSlots;
  const std::uint32_t bucket = level * kSlots + slot;
  OwnerExtras& extras = owners_->extras(owner);
  extras.bucket = bucket;
  extras.prev = kNone;
  extras.next = heads_[bucket];
  if (extras.next != kNone) owners_->extras(extras.next).prev = owner;
  heads_[bucket] = owner;
  filled_[level][slot / 64] |= std::uint64_t{1} << slot % 64;
  return level == 0 ? tick + 1 : tick >> 8 * level << 8 * level;
}

void Wheel::unlink(std::uint32_t owner) {
  OwnerRecord& record = (*owners_)[owner];
  record.flags &= static_cast<std::uint8_t>(~kInWheel);
  count_ -= 1;
  const OwnerExtras& extras = owners_->extras(owner);
  const std::uint32_t bucket = extras.bucket;
  (extras.prev == kNone ? heads_[bucket] : owners_->extras(extras.prev).next) = extras.next;
  if (extras.next != kNone) owners_->extras(extras.next).prev = extras.prev;
  if (heads_[bucket] == kNone) {
    const std::uint32_t slot = bucket % kSlots;
    filled_[bucket / kSlots][slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  }
}

std::uint32_t Wheel::take_due(std::int64_t now_ns) {
  if (!is_due(now_ns)) return kNone;
  const std::uint32_t owner = find_due(now_ns);
  if (count_ != 0) next_ns_ = first_ns();
  return owner;
}

std::uint32_t Wheel::find_due(std::int64_t now_ns) {
  const std::uint64_t now_tick =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns)) >> kShift;
  while (count_ != 0) {
    const std::uint64_t bucket_tick = next_bucket_tick();
    const std::uint64_t cascade_tick = next_cascade_tick();
    if (cascade_tick <= now_tick && cascade_tick <= bucket_tick) {
      current_ = cascade_tick;
      cascade(cascade_tick);
      continue;
    }
    if (bucket_tick >= now_tick) break;
    current_ = bucket_tick;
    const std::uint32_t owner = heads_[bucket_tick % kSlots];
    drop(owner);
    return owner;
  }
  current_ = std::max(current_, now_tick);
  return kNone;
}

std::int64_t Wheel::first_ns() const {
  const std::uint64_t bucket_tick = next_bucket_tick();
  const std::uint64_t bucket_end = bucket_tick == kNever ? kNever : bucket_tick + 1;
  return static_cast<std::int64_t>(std::min(bucket_end, next_cascade_tick()) << kShift);
}

// Moves the blocks that begin at `tick` one or more levels down.
void Wheel::cascade(std::uint64_t tick) {
  for (std::uint32_t level = 1; level < kLevels; ++level) {
    if (tick % (std::uint64_t{1} << 8 * level) != 0) return;
    const std::uint32_t slot = static_cast<std::uint32_t>(tick >> 8 * level) % kSlots;
    std::uint32_t owner = heads_[level * kSlots + slot];
    heads_[level * kSlots + slot] = kNone;
    filled_[level][slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    while (owner != kNone) {
      const std::uint32_t next = owners_->extras(owner).next;
      link(owner,
           static_cast<std::uint64_t>(std::max<std::int64_t>(0, owners_->extras(owner).due_ns)) >>
               kShift);
      owner = next;
    }
  }
}

std::uint32_t Wheel::distance(std::uint32_t level, std::uint32_t from, std::uint32_t least) const {
  const std::uint32_t start = (from + least) % kSlots;
  for (std::uint32_t i = 0; i <= kSlots / 64; ++i) {
    const std::uint32_t w = (start / 64 + i) % (kSlots / 64);
    std::uint64_t bits = filled_[level][w];
    if (i == 0) bits &= ~std::uint64_t{0} << start % 64;
    if (bits == 0) continue;
    const std::uint32_t slot = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    return (slot - start + kSlots) % kSlots + least;
  }
  return kNone;
}

std::uint64_t Wheel::next_bucket_tick() const {
  const std::uint32_t slots = distance(0, static_cast<std::uint32_t>(current_ % kSlots), 0);
  return slots == kNone ? kNever : current_ + slots;
}

// A block of level l is moved down when its first tick comes; it is 1 … 256 blocks ahead.
std::uint64_t Wheel::next_cascade_tick() const {
  std::uint64_t first = kNever;
  for (std::uint32_t level = 1; level < kLevels; ++level) {
    const std::uint64_t block = current_ >> 8 * level;
    const std::uint32_t blocks = distance(level, static_cast<std::uint32_t>(block % kSlots), 1);
    if (blocks != kNone) first = std::min(first, (block + blocks) << 8 * level);
  }
  return first;
}

}  // namespace tentq::core
