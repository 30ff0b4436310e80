// Group publishing as the library does it, group taking as the inbox does it.
#include "tests/bench/bare_ring.h"

#include <stdexcept>
#include <vector>

#include "tests/bench/clock.h"
#include "tests/bench/wire.h"

namespace tentq::bench {

BareRing::BareRing()
    : cells_(kCells),
      words_(2),
      producer_(cells_.data(), kCells, kReserved, &words_[0].value, &words_[1].value),
      consumer_(cells_.data(), kCells, &words_[0].value, &words_[1].value) {}

void BareRing::produce(std::uint64_t owners, std::uint32_t batch) {
  std::vector<CellBody> group(batch);
  SpinLimit limit;
  for (std::uint64_t left = owners; left > 0;) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, left));
    for (std::uint32_t i = 0; i < count; ++i) {
      group[i].kind = CellKind::transfer;
      group[i].length = 64;
      group[i].cookie = produced_ + i;
    }
    while (!producer_.publish({group.data(), count}, shm::RingUse::work)) limit.turn();
    produced_ += count;
    left -= count;
  }
}

std::int64_t BareRing::consume(std::uint64_t owners) {
  std::vector<CellBody> group(kCells);
  SpinLimit limit;
  for (std::uint64_t left = owners; left > 0;) {
    shm::RingFault fault = shm::RingFault::none;
    const std::uint32_t count = consumer_.take_group(group, &fault);
    if (fault != shm::RingFault::none) throw std::runtime_error("the bare ring is broken");
    if (count == 0) {
      limit.turn();
      continue;
    }
    consumer_.publish_head();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (group[i].cookie != consumed_ + i) throw std::runtime_error("the bare ring lost a cell");
    }
    consumed_ += count;
    left -= count;
  }
  return now_ns();
}

}  // namespace tentq::bench
