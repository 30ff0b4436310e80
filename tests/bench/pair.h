// Two memories and the processes around them: an exporter that only registers, and clients that
// move bytes. Every process maps both memories, so that results can be checked and limits measured
// over the same pages that the daemon copies between.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tentq/tentq.hpp>

#include "shm/fd.h"
#include "shm/memory.h"
#include "tests/support/role.h"

namespace tentq::bench {

// Made before the processes are forked; the fds are inherited. Throws when memory is short.
struct PairMemory {
  explicit PairMemory(std::uint64_t bytes);
  std::uint64_t bytes;  // of each
  shm::Fd remote;       // the exporter's
  shm::Fd local;        // the client's
};

// Both, mapped and touched in this process.
struct MappedPair {
  explicit MappedPair(const PairMemory& memory);
  shm::Mapping remote;
  shm::Mapping local;
};

// How every process of a benchmark attaches. On a busy machine that may take long.
inline constexpr std::chrono::seconds kAttachLimit{60};
ConnectOptions connection(const std::string& socket, const std::string& name);

// A process that registers memory.remote as segment `name` from offset 0 and then makes no call
// until it is stopped.
test::Role start_exporter(const std::string& socket, const PairMemory& memory,
                          const std::string& name);

// Where a process is: its network, -1 for this one, and the address of its host there.
struct HostPlace {
  int network = -1;
  std::string address = "127.0.0.1";
};
// In the role, before it has threads: it is on that host from now on.
void move_to(const HostPlace& place);

// A process on that host that serves raw requests for memory.remote (raw_tcp.h), and its port.
test::Role start_raw_server(const PairMemory& memory, const std::string& name,
                            const HostPlace& place = {});
std::uint16_t port_of(test::Role& raw_server);

// In the client's process: attached, its memory registered, the exporter's segment open.
struct AttachedClient {
  AttachedClient(const std::string& socket, const PairMemory& memory, const MappedPair& mapped,
                 const std::string& exporter);
  Client client;
  Segment segment;
};

// The value, or std::runtime_error `WHAT: code: text`.
template <class T>
T value_of(Result<T> result, const char* what) {
  if (!result.ok())
    throw std::runtime_error(std::string(what) + ": " + result.status().to_string());
  return std::move(result).value();
}
void check_ok(const Status& status, const char* what);

}  // namespace tentq::bench
