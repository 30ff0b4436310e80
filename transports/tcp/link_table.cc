// See link_table.h.
#include "transports/tcp/link_table.h"

#include <algorithm>
#include <utility>

#include "proto/check.h"

namespace tentq {

LinkedConnection* LinkTable::add(std::shared_ptr<Connection> connection, IoThread* thread) {
  const ConnectionName& name = connection->name();
  auto linked = std::make_unique<LinkedConnection>();
  linked->connection = std::move(connection);
  linked->thread = thread;
  LinkedConnection* at = linked.get();
  by_serial_.emplace(name.serial, std::move(linked));
  by_link_[name.link].push_back(at);
  return at;
}

void LinkTable::remove(LinkedConnection* linked) {
  TENTQ_CHECK(linked->outstanding_chunks == 0);
  const ConnectionName name = linked->connection->name();
  const auto link = by_link_.find(name.link);
  std::erase(link->second, linked);
  if (link->second.empty()) by_link_.erase(link);
  by_serial_.erase(name.serial);
}

void LinkTable::bind(LaneId lane, LinkKey link) {
  if (lanes_.size() <= lane.value()) lanes_.resize(lane.value() + std::size_t{1});
  lanes_[lane.value()] = link;
}

void LinkTable::unbind(LinkKey link) {
  std::replace(lanes_.begin(), lanes_.end(), link, LinkKey{});
}

LinkedConnection* LinkTable::pick(LaneId lane) const {
  if (lane.value() >= lanes_.size()) return nullptr;
  LinkedConnection* least = nullptr;
  for (LinkedConnection* linked : of(lanes_[lane.value()])) {
    if (linked->connection->name().side != TcpSide::dialer || linked->connection->gone()) continue;
    if (least == nullptr || linked->outstanding_bytes < least->outstanding_bytes) least = linked;
  }
  return least;
}

LinkedConnection* LinkTable::of_read(std::uint64_t read) const {
  return of_serial(static_cast<std::uint32_t>(read >> kReadSerialShift));
}

LinkedConnection* LinkTable::of_serial(std::uint32_t serial) const {
  const auto found = by_serial_.find(serial);
  return found == by_serial_.end() ? nullptr : found->second.get();
}

LinkedConnection* LinkTable::find(LinkKey link, std::uint64_t connection) const {
  const auto& all = of(link);
  const auto found = std::find_if(all.begin(), all.end(), [&](const LinkedConnection* linked) {
    return linked->connection->name().connection == connection;
  });
  return found == all.end() ? nullptr : *found;
}

const std::vector<LinkedConnection*>& LinkTable::of(LinkKey link) const {
  static const std::vector<LinkedConnection*> none;
  const auto found = by_link_.find(link);
  return found == by_link_.end() ? none : found->second;
}

}  // namespace tentq
