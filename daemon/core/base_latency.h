// How long a chunk takes on a lane that does nothing else: the least of 10 s, per size bin. Only a
// chunk that was alone on its lane measures it; the others take at least as long. Conductor thread.
// Nanoseconds and bytes; rates in bytes a nanosecond.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace tentq::core {

class BaseLatency {
 public:
  // Bin 0 holds up to 4 KiB, each next one twice as much, the last one all that is longer.
  static constexpr std::uint32_t kBins = 16;
  static constexpr std::int64_t kHalf_ns = 5'000'000'000;  // two of them are remembered

  static constexpr std::uint32_t bin_of(std::uint64_t bytes) {
    if (bytes <= kSmallest) return 0;
    const auto bin = static_cast<std::uint32_t>(std::bit_width((bytes - 1) / kSmallest));
    return bin < kBins ? bin : kBins - 1;
  }
  // The size that a bin's latencies are given for.
  static constexpr std::uint64_t largest_of(std::uint32_t bin) { return kSmallest << bin; }

  // Nothing is known any more.
  void reset(std::int64_t now_ns);
  // The latency as it would have been for the largest size of the bin: base(size) = b0 + size/rate.
  // Rate 0: not known yet.
  static std::int64_t normal(std::uint32_t bin, std::uint64_t bytes, std::int64_t latency_ns,
                             double rate);
  // A latency from normal(); alone: nothing else was in flight when the chunk was handed over.
  void add(std::uint32_t bin, std::int64_t normal_ns, bool alone) {
    Half& half = halves_[bin][0];
    if (normal_ns < half.least_ns) half.least_ns = normal_ns;
    half.alone = half.alone || alone;
  }
  // The path has changed: this is what is known of the bin, of others nothing.
  void replace(std::uint32_t bin, std::int64_t normal_ns, std::int64_t now_ns);

  // The base latency of the bin, 0 when nothing is known. Never less than size/rate. A bin of which
  // nothing is sure is taken from the nearest one of which something is, if that is less.
  std::int64_t of(std::uint32_t bin, double rate) const;
  // As measured, without what the rate says; kUnknown when nothing is.
  std::int64_t measured(std::uint32_t bin) const {
    return halves_[bin][0].least_ns < halves_[bin][1].least_ns ? halves_[bin][0].least_ns
                                                               : halves_[bin][1].least_ns;
  }
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

  // Whether it is time to forget what is older than 10 s: at multiples of a half, for all lanes.
  bool is_half_over(std::int64_t now_ns) const {
    return now_ns / kHalf_ns != half_started_ns_ / kHalf_ns;
  }
  // Whether the running half has seen a chunk of the bin alone, so that it can stand for itself.
  bool is_sure(std::uint32_t bin) const { return halves_[bin][0].alone; }
  // The running half becomes the older one. What a bin knows stays while nothing newer is known.
  void rotate(std::int64_t now_ns);

  std::uint64_t hash(std::uint64_t seed) const;

 private:
  static constexpr std::uint64_t kSmallest = 4096;
  struct Half {
    std::int64_t least_ns = kUnknown;
    bool alone = false;
  };
  bool is_anyhow_sure(std::uint32_t bin) const {
    return halves_[bin][0].alone || halves_[bin][1].alone;
  }
  // b0 of the nearest bin that is sure, or kUnknown.
  std::int64_t nearest_fixed_part(std::uint32_t bin, double rate) const;

  std::array<std::array<Half, 2>, kBins> halves_{};  // [bin][0: running, 1: the one before]
  std::int64_t half_started_ns_ = 0;
};

}  // namespace tentq::core
