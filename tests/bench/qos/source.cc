// The exporter: memory with a pattern, readable by every user, and nothing else.
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/qos/roles.h"

namespace tentq::bench::qos {

test::Role start_source(const Setup& setup) {
  return test::Role(kExporter, kRoleLimit, [&setup](test::RoleChannel& channel) {
    Client client = value_of(Client::connect(connection(setup.socket, kExporter)), "connect");
    AllocateOptions options;
    options.segment_offset = 0;
    options.access = Rights(Access::remote_read);
    options.access.scope = Scope::everyone;
    const Memory memory = value_of(client.allocate(kSourceBytes, options), "allocate");
    Pattern(setup.seed, 0).fill(memory.bytes());
    return serve_orders(channel, [](const Order&) { return Report{}; });
  });
}

}  // namespace tentq::bench::qos
