// Fences that are waited for. See fences.h.
#include "daemon/hosts/fences.h"

namespace tentq {

template <class Which>
void Fences::settle(const Which& which, bool fenced) {
  std::vector<Connection> done;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (!which(each)) return false;
    done.push_back(each.connection);
    return true;
  });
  for (const Connection& connection : done) settled_(connection, fenced);
}

void Fences::needed(const HostId& host, const Connection& connection, Time now) {
  waiting_.push_back({host, connection, now + budget_});
  (void)ask_(connection);
}

void Fences::confirmed(const Connection& connection) {
  settle(
      [&connection](const Waiting& each) {
        return each.connection.link == connection.link &&
               each.connection.number == connection.number;
      },
      true);
}

void Fences::link_up(const HostId& host, LinkKey link) {
  settle([&](const Waiting& each) { return each.host == host && each.connection.link != link; },
         true);
}

void Fences::expire(Time now) {
  settle([now](const Waiting& each) { return each.give_up <= now; }, false);
}

}  // namespace tentq
