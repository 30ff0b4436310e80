// Memories by fork, segments by name.
#include "tests/bench/pair.h"

#include <cstring>
#include <stdexcept>

#include "tests/bench/orders.h"
#include "tests/bench/raw_tcp.h"
#include "tests/namespaces/namespaces.h"

namespace tentq::bench {
namespace {

shm::Fd make_memory(const char* name, std::uint64_t bytes) {
  int error = 0;
  shm::Fd fd = shm::create_memory(name, bytes, false, &error);
  if (fd.valid()) error = shm::seal_shrink(fd.get());
  if (error != 0) throw std::runtime_error(std::string("memory: ") + std::strerror(error));
  return fd;
}

shm::Mapping map_all(const shm::Fd& fd, std::uint64_t bytes) {
  int error = 0;
  shm::Mapping mapping =
      shm::Mapping::map(fd.get(), 0, bytes, shm::Mapping::Mode::read_write, &error);
  if (error == 0) error = shm::populate(mapping.data(), bytes, true, nullptr, nullptr);
  if (error != 0) throw std::runtime_error(std::string("mapping: ") + std::strerror(error));
  return mapping;
}

// Of who opens that segment, whatever its host.
std::string client_name(const std::string& segment) {
  return segment.substr(segment.rfind('/') + 1) + "-client";
}

}  // namespace

ConnectOptions connection(const std::string& socket, const std::string& name) {
  ConnectOptions options;
  options.name = name;
  options.socket = socket;
  options.attach_timeout = kAttachLimit;
  return options;
}

PairMemory::PairMemory(std::uint64_t size)
    : bytes(size),
      remote(make_memory("bench-remote", size)),
      local(make_memory("bench-local", size)) {}

MappedPair::MappedPair(const PairMemory& memory)
    : remote(map_all(memory.remote, memory.bytes)), local(map_all(memory.local, memory.bytes)) {}

test::Role start_exporter(const std::string& socket, const PairMemory& memory,
                          const std::string& name) {
  return test::Role(name, kRoleLimit, [&memory, socket, name](test::RoleChannel& channel) {
    const shm::Mapping mapping = map_all(memory.remote, memory.bytes);
    Client client = value_of(Client::connect(connection(socket, name)), "connect");
    RegisterOptions options;
    options.segment_offset = 0;
    Rights rights;
    rights.other_hosts = Access::remote_read_write;
    value_of(
        client.register_fd(memory.remote.get(), 0, memory.bytes, mapping.data(), rights, options),
        "register_fd");
    return serve_orders(channel, [](const Order&) { return Report{}; });
  });
}

void move_to(const HostPlace& place) {
  if (place.network >= 0) test::enter(place.network);
}

test::Role start_raw_server(const PairMemory& memory, const std::string& name,
                            const HostPlace& place) {
  return test::Role(name, kRoleLimit, [&memory, place](test::RoleChannel& channel) {
    move_to(place);
    const shm::Mapping mapping = map_all(memory.remote, memory.bytes);
    const RawTcpServer server({mapping.data(), memory.bytes}, place.address);
    return serve_orders(channel, [&server](const Order&) {
      Report report;
      report.count = server.port();
      return report;
    });
  });
}

std::uint16_t port_of(test::Role& raw_server) {
  await_ready(raw_server);
  return static_cast<std::uint16_t>(order_one(raw_server, {OrderKind::subject, 0, 0}).count);
}

AttachedClient::AttachedClient(const std::string& socket, const PairMemory& memory,
                               const MappedPair& mapped, const std::string& exporter)
    : client(value_of(Client::connect(connection(socket, client_name(exporter))), "connect")) {
  value_of(client.register_fd(memory.local.get(), 0, memory.bytes, mapped.local.data()),
           "register_fd");
  segment = value_of(client.open_segment(exporter), "open_segment");
}

void check_ok(const Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string(what) + ": " + status.to_string());
}

}  // namespace tentq::bench
