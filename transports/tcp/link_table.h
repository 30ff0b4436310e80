// The conductor's view of the TCP transport's connections: which belong to which link, which link a
// lane goes over, how much each has in flight. Conductor only.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "proto/ids.h"
#include "transports/tcp/connection.h"

namespace tentq {

class IoThread;

struct LinkedConnection {
  std::shared_ptr<Connection> connection;
  IoThread* thread = nullptr;
  std::uint64_t outstanding_bytes = 0;  // of chunks handed to it and not polled
  std::uint32_t outstanding_chunks = 0;
  bool over = false;  // its end was polled
};

class LinkTable {
 public:
  LinkedConnection* add(std::shared_ptr<Connection> connection, IoThread* thread);
  // Its chunks were polled and its end was.
  void remove(LinkedConnection* linked);

  void bind(LaneId lane, LinkKey link);
  // Lanes are no longer bound to it; its connections stay until they are removed.
  void unbind(LinkKey link);

  // The dialled connection with the fewest outstanding bytes; null if the lane is bound to none
  // that lives.
  LinkedConnection* pick(LaneId lane) const;
  // Null: it is no more.
  LinkedConnection* of_serial(std::uint32_t serial) const;
  // Where a READ was asked; null if that connection is no more.
  LinkedConnection* of_read(std::uint64_t read) const;
  bool has_serial(std::uint32_t serial) const { return by_serial_.contains(serial); }
  LinkedConnection* find(LinkKey link, std::uint64_t connection) const;
  // Of a link, in the order of their adding; empty for an unknown one.
  const std::vector<LinkedConnection*>& of(LinkKey link) const;

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<LinkedConnection>> by_serial_;
  std::unordered_map<LinkKey, std::vector<LinkedConnection*>> by_link_;
  std::vector<LinkKey> lanes_;  // by number
};

}  // namespace tentq
