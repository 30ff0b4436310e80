// How a command drives its processes: an order to each, a report back, round after round.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "proto/text.h"
#include "tests/support/role.h"

namespace tentq::bench {

enum class OrderKind : std::uint32_t { stop, subject, limit };

struct Order {
  OrderKind kind = OrderKind::stop;
  std::uint32_t round = 0;
  std::uint64_t count = 0;  // what to count is the command's
};

struct Report {
  bool ok = true;
  std::uint64_t count = 0;    // done
  std::uint64_t errors = 0;   // of them with wrong bytes or a wrong end
  std::uint64_t refused = 0;  // submits refused and repeated
  std::int64_t begin_ns = 0;  // of the timed part, CLOCK_MONOTONIC
  std::int64_t end_ns = 0;
  double figure = 0;  // what the order asked for, if not a time
  Text<256> text{};   // why not ok, or a name
};

// No order takes longer than this.
inline constexpr std::chrono::seconds kOrderLimit{120};
// No process of a command with orders lives longer than this.
inline constexpr std::chrono::seconds kRoleLimit{1'800};

// In the role: reports that it is ready, then answers each order until `stop` or the parent's end.
// An exception becomes a report that is not ok. The role's exit code.
int serve_orders(test::RoleChannel& channel, const std::function<Report(const Order&)>& carry_out);

// In the parent: waits until the role is ready.
void await_ready(test::Role& role);
// Gives the order to all, then waits for all. Throws std::runtime_error when one fails or is late.
std::vector<Report> order_all(std::span<test::Role* const> roles, const Order& order);
Report order_one(test::Role& role, const Order& order);
// Orders `stop` and waits for the end.
void stop_all(std::span<test::Role* const> roles);

}  // namespace tentq::bench
