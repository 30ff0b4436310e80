// A Store process: memory, a name, and nothing else.
#include <tentq/tentq.hpp>

#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/replay/roles.h"

namespace tentq::bench {

test::Role start_store(Replay& replay, std::uint32_t store, std::chrono::seconds limit) {
  return test::Role(store_name(store), limit, [&replay, store](test::RoleChannel& channel) {
    Client client =
        value_of(Client::connect(connection(replay.store_socket, store_name(store))), "connect");
    AllocateOptions options;
    options.segment_offset = 0;
    options.access.other_hosts = Access::remote_read_write;
    const std::uint64_t bytes = replay.options.places_per_store() * replay.options.block;
    const Memory memory = value_of(client.allocate(bytes, options), "allocate");
    return serve_orders(channel, [](const Order&) { return Report{}; });
  });
}

}  // namespace tentq::bench
