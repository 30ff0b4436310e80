// Orders and reports over the roles' packet channels.
#include "tests/bench/orders.h"

#include <exception>
#include <stdexcept>
#include <string>

namespace tentq::bench {
namespace {

Report collect(test::Role& role) {
  const auto report = role.channel().receive<Report>(kOrderLimit);
  if (!report) throw std::runtime_error(role.name() + ": ended or gave no answer in time");
  if (!report->ok) throw std::runtime_error(role.name() + ": " + std::string(report->text.view()));
  return *report;
}

Report failure(const std::exception& error) {
  Report report;
  report.ok = false;
  report.text.assign(error.what());
  return report;
}

}  // namespace

int serve_orders(test::RoleChannel& channel, const std::function<Report(const Order&)>& carry_out) {
  if (!channel.send(Report{})) return 1;
  for (;;) {
    const auto order = channel.receive<Order>(kRoleLimit);
    if (!order || order->kind == OrderKind::stop) return order ? 0 : 1;
    Report report;
    try {
      report = carry_out(*order);
    } catch (const std::exception& error) {
      report = failure(error);
    }
    if (!channel.send(report)) return 1;
  }
}

void await_ready(test::Role& role) {
  collect(role);
}

std::vector<Report> order_all(std::span<test::Role* const> roles, const Order& order) {
  for (test::Role* role : roles) {
    if (!role->channel().send(order)) throw std::runtime_error(role->name() + ": ended");
  }
  std::vector<Report> reports;
  for (test::Role* role : roles) reports.push_back(collect(*role));
  return reports;
}

Report order_one(test::Role& role, const Order& order) {
  test::Role* one = &role;
  return order_all({&one, 1}, order).front();
}

void stop_all(std::span<test::Role* const> roles) {
  for (test::Role* role : roles) role->channel().send(Order{});
  for (test::Role* role : roles) role->join(kOrderLimit);
}

}  // namespace tentq::bench
