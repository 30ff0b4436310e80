// See copy_chooser.h.
#include "transports/shm/copy_chooser.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

namespace tentq {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kMostTracked = 1u << 30;

std::uint64_t key_of(RegionIndex region, std::uint64_t granule) {
  return (std::uint64_t{region.value()} << 32) ^ granule;
}

std::uint64_t sysconf_bytes(int name) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

CopyChooser::CopyChooser(CopyRoutine cached, CopyRoutine streamed, std::uint64_t cache_bytes)
    : cached_(cached), streamed_(streamed), cache_bytes_(cache_bytes) {
  // Eight entries for each granule that can be cached keep collisions rare.
  const std::uint64_t tracked = std::min(cache_bytes, kMostTracked);
  const std::uint64_t size = std::bit_ceil(std::max<std::uint64_t>(64, 8 * tracked / kGranule));
  shift_ = static_cast<unsigned>(64 - std::countr_zero(size));
  entries_.resize(size);
}

CopyRoutine CopyChooser::choose(TouchedRange to, TouchedRange from, std::uint64_t length) {
  const bool to_cached = touch(to, length);
  const bool from_cached = touch(from, length);
  if (length < kLeastStreamed) return cached_;
  return to_cached && from_cached ? cached_ : streamed_;
}

bool CopyChooser::touch(TouchedRange range, std::uint64_t length) {
  const std::uint64_t end = range.offset + length;
  std::uint64_t cached = 0;
  std::uint64_t at = range.offset;
  while (at < end) {
    const std::uint64_t granule = at / kGranule;
    const std::uint64_t bytes = std::min(end, (granule + 1) * kGranule) - at;
    const std::uint64_t key = key_of(range.region, granule);
    Entry& entry = entries_[(key * 0x9e37'79b9'7f4a'7c15u) >> shift_];
    if (entry.key == key && touched_ - entry.touched_by <= cache_bytes_) cached += bytes;
    touched_ += bytes;
    entry = {key, touched_};
    at += bytes;
  }
  return cache_bytes_ > 0 && 2 * cached >= length;
}

std::uint64_t cache_bytes_for(std::uint64_t level2_bytes, std::uint64_t level3_bytes) {
  std::uint64_t bytes = level2_bytes == 0 ? 4 * kMiB : 8 * level2_bytes;
  if (level3_bytes != 0) bytes = std::min(bytes, level3_bytes / 2);
  return std::clamp(bytes, kMiB, 16 * kMiB);
}

std::uint64_t cache_bytes_of_host() {
  return cache_bytes_for(sysconf_bytes(_SC_LEVEL2_CACHE_SIZE),
                         sysconf_bytes(_SC_LEVEL3_CACHE_SIZE));
}

}  // namespace tentq
