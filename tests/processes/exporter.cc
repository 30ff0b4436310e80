// Orders over the role's channel, each answered by one number.
#include "tests/processes/exporter.h"

#include <stdexcept>

#include "tests/processes/identity.h"
#include "tests/processes/pattern.h"

namespace tentq::test {

Exporter::Exporter(const std::string& socket, ExporterOptions options)
    : role_(options.name, options.limit,
            [socket, options](RoleChannel& channel) { return run(channel, socket, options); }) {
  if (!role_.channel().receive<std::uint64_t>(kLong)) {
    throw std::runtime_error(role_.name() + " did not come up");
  }
}

int Exporter::run(RoleChannel& channel, const std::string& socket, const ExporterOptions& options) {
  if (options.uid != 0) become(options.uid, options.gid);
  ConnectOptions connect = connection(socket, options.name);
  connect.reattach_timeout = options.reattach_timeout;
  Client client = attach(connect);
  Memory memory = allocate_at(client, options.bytes, 0, options.rights);
  channel.send(std::uint64_t{0});
  while (const auto order = channel.receive<Order>(options.limit)) {
    if (order->deed == Deed::stop) return 0;
    if (!channel.send(carry_out(*order, client, memory))) return 1;
  }
  return 1;
}

std::uint64_t Exporter::carry_out(const Order& order, Client& client, Memory& memory) {
  switch (order.deed) {
    case Deed::fill:
      fill_pattern(memory.bytes().subspan(order.offset, order.length), order.seed, order.offset);
      return 0;
    case Deed::differences:
      return pattern_differences(memory.bytes().subspan(order.offset, order.length), order.seed,
                                 order.offset);
    case Deed::reattaches: return client.reattaches();
    case Deed::unregister:
      return static_cast<std::uint64_t>(client.unregister(memory.region()).code());
    case Deed::stop: break;
  }
  return 0;
}

std::uint64_t Exporter::order(const Order& order) {
  if (!role_.channel().send(order)) throw std::runtime_error(role_.name() + " is gone");
  const auto answer = role_.channel().receive<std::uint64_t>(kLong);
  if (!answer) throw std::runtime_error(role_.name() + " does not answer");
  return *answer;
}

void Exporter::fill(std::uint64_t seed, std::uint64_t offset, std::uint64_t length) {
  order({Deed::fill, seed, offset, length});
}

std::uint64_t Exporter::differences(std::uint64_t seed, std::uint64_t offset,
                                    std::uint64_t length) {
  return order({Deed::differences, seed, offset, length});
}

std::uint64_t Exporter::reattaches() {
  return order({Deed::reattaches});
}

Code Exporter::unregister() {
  return static_cast<Code>(order({Deed::unregister}));
}

int Exporter::stop() {
  role_.channel().send(Order{Deed::stop});
  return role_.join(kLong);
}

}  // namespace tentq::test
