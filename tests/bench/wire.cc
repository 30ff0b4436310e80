// Both ends of the two rings.
#include "tests/bench/wire.h"

#include <sched.h>

#include <cstring>
#include <stdexcept>

#include "tests/bench/clock.h"

namespace tentq::bench {
namespace {

constexpr std::int64_t kSpinLimitNs = 30'000'000'000;

void await(const WireLine& line, std::uint64_t sequence) {
  SpinLimit limit;
  while (line.sequence.load(std::memory_order_acquire) != sequence) limit.turn();
}

}  // namespace

void SpinLimit::check() {
  ::sched_yield();
  const std::int64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  if (now - since_ns_ > kSpinLimitNs) throw std::runtime_error("the other process does not answer");
}

void WireCaller::copy(std::uint64_t to, std::uint64_t from, std::uint64_t length) {
  WireLine& request = wire_->requests[next_ % kWireLines];
  const WireLine& answer = wire_->answers[next_ % kWireLines];
  ++next_;
  request.to = to;
  request.from = from;
  request.length = length;
  request.sequence.store(next_, std::memory_order_release);
  await(answer, next_);
}

void WireServer::serve(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const WireLine& request = wire_->requests[next_ % kWireLines];
    WireLine& answer = wire_->answers[next_ % kWireLines];
    ++next_;
    await(request, next_);
    std::memcpy(destination_ + request.to, source_ + request.from, request.length);
    answer.sequence.store(next_, std::memory_order_release);
  }
}

}  // namespace tentq::bench
