// Sixteen senders and a receiver that is slower than any of them: what is in flight stays within
// the bound, and the receiver is kept busy. With fixed windows neither the bound nor its test
// holds.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/credits/credit_net.h"

namespace tentq::core {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

NetShape slow_receiver(std::uint64_t fixed_window = 0) {
  NetShape shape;
  shape.rules.chunk_bytes = 64u << 10;
  shape.rules.boot_bytes = 512u << 10;
  shape.fixed_window = fixed_window;
  return shape;
}

struct Incast {
  double goodput = 0;  // of the ingest rate
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;
  std::uint64_t violations = 0;
  double least_share = 1;  // of an equal one
};

Incast run_incast(const NetShape& shape, const char* what) {
  CreditNet net(shape);
  for (std::uint32_t s = 0; s < shape.senders; ++s) net.queue(s, 1u << 20);
  net.run_until(2 * kSecond_ns);
  Incast incast;
  incast.goodput = static_cast<double>(net.ingested()) /
                   (shape.ingest_per_ns * 2 * static_cast<double>(kSecond_ns));
  incast.peak = net.peak_in_flight();
  incast.bound = net.receiver().exposure().bound;
  incast.violations = net.violations();
  for (std::uint32_t s = 0; s < shape.senders; ++s) {
    incast.least_share =
        std::min(incast.least_share, static_cast<double>(net.ingested_of(s)) * shape.senders /
                                         static_cast<double>(net.ingested()));
  }
  const double chunk = static_cast<double>(shape.rules.chunk_bytes);
  std::printf(
      "%s: goodput %.3f, peak %.1f chunks, bound %.1f, violations %lu, least share %.2f, "
      "%lu messages\n",
      what, incast.goodput, static_cast<double>(incast.peak) / chunk,
      static_cast<double>(incast.bound) / chunk, incast.violations, incast.least_share,
      net.messages());
  return incast;
}

TEST(CreditIncast, SixteenSendersStayWithinTheBound) {
  const Incast incast = run_incast(slow_receiver(), "credits");
  EXPECT_EQ(incast.violations, 0u);
  EXPECT_LE(incast.peak, std::max(incast.bound, (512u << 10) * 3ul / 2));
  EXPECT_GE(incast.goodput, 0.95);
  EXPECT_GE(incast.least_share, 0.9);
}

TEST(CreditIncast, FourSenders) {
  NetShape shape = slow_receiver();
  shape.senders = 4;
  const Incast incast = run_incast(shape, "four senders");
  EXPECT_EQ(incast.violations, 0u);
  EXPECT_GE(incast.goodput, 0.95);
}

// More senders than the pool has chunks: they go in rotation.
TEST(CreditIncast, SixtyFourSenders) {
  NetShape shape = slow_receiver();
  shape.senders = 64;
  const Incast incast = run_incast(shape, "sixty-four senders");
  EXPECT_EQ(incast.violations, 0u);
  EXPECT_GE(incast.goodput, 0.95);
  EXPECT_GE(incast.least_share, 0.9);
}

// One sender alone gets what the receiver takes in, which is far more than it began with.
TEST(CreditIncast, OneFastSender) {
  NetShape shape;
  shape.senders = 1;
  shape.ingest_per_ns = 10;
  shape.uplink_per_ns = 25;
  const Incast incast = run_incast(shape, "one fast sender");
  EXPECT_EQ(incast.violations, 0u);
  EXPECT_GE(incast.goodput, 0.85) << "with 0.2 s in which the receiver learns";
}

// A receiver that becomes four times slower, and fast again: what is in flight follows.
TEST(CreditIncast, ThePoolFollowsTheReceiver) {
  NetShape shape = slow_receiver();
  shape.ingest_per_ns = 0.8;
  shape.uplink_per_ns = 1.25;
  CreditNet net(shape);
  for (std::uint32_t s = 0; s < shape.senders; ++s) net.queue(s, 1u << 20);
  net.run_until(kSecond_ns);
  const std::uint64_t pool = net.receiver().pool_bytes();
  net.set_ingest(0.2);
  net.run_until(2 * kSecond_ns);
  net.forget_figures();
  net.run_until(3 * kSecond_ns);
  EXPECT_LT(net.receiver().pool_bytes(), pool / 2);
  EXPECT_GE(static_cast<double>(net.ingested()), 0.95 * 0.2 * kSecond_ns);
  EXPECT_LE(net.peak_in_flight(), net.receiver().cap_bytes() + shape.rules.chunk_bytes);
  EXPECT_EQ(net.violations(), 0u);
  net.set_ingest(0.8);
  net.run_until(3 * kSecond_ns + kSecond_ns / 5);
  net.forget_figures();
  net.run_until(4 * kSecond_ns);
  EXPECT_GE(static_cast<double>(net.ingested()), 0.95 * 0.8 * 0.8 * kSecond_ns);
  EXPECT_EQ(net.violations(), 0u);
}

// A tenth of all messages is lost, and the others overtake each other.
TEST(CreditIncast, WithLosses) {
  const NetShape shape = slow_receiver();
  CreditNet net(shape);
  net.set_faults({0.1, 0.1, 2'000'000});
  for (std::uint32_t s = 0; s < shape.senders; ++s) net.queue(s, 1u << 20);
  net.run_until(2 * kSecond_ns);
  std::printf("losses: goodput %.3f\n", static_cast<double>(net.ingested()) / (0.4 * kSecond_ns));
  EXPECT_EQ(net.violations(), 0u);
  // Each lost message costs its sender the time to the next demand.
  EXPECT_GE(static_cast<double>(net.ingested()), 0.25 * 0.4 * kSecond_ns);
}

TEST(CreditIncast, FixedWindowsBreakIt) {
  const Incast incast = run_incast(slow_receiver(256u << 10), "fixed windows");
  EXPECT_GT(incast.violations, 1000u);
  EXPECT_GT(incast.peak, incast.bound);
}

}  // namespace
}  // namespace tentq::core
