// What clients asked other hosts about their regions and is not answered: bounded, and none waits
// for ever for a host that is silent. Conductor thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "proto/ids.h"
#include "proto/peer.h"
#include "proto/units.h"

namespace tentq {

class Listings {
 public:
  using Answer = std::function<void(const PeerRegions&)>;
  static constexpr std::size_t kMost = 1024;

  bool full() const { return waiting_.size() >= kMost; }
  std::size_t waiting() const { return waiting_.size(); }

  // Not when full.
  void add(LinkKey link, std::uint64_t request, Time give_up, Answer answer) {
    waiting_[{link, request}] = {give_up, std::move(answer)};
  }
  // Ignored when nobody waits for it.
  void answered(LinkKey link, const PeerRegions& message) {
    const auto it = waiting_.find({link, message.header.request});
    if (it == waiting_.end()) return;
    const Answer answer = std::move(it->second.answer);
    waiting_.erase(it);
    answer(message);
  }
  void link_down(LinkKey link) {
    fail([link](const auto& entry) { return entry.first.first == link; });
  }
  void expire(Time now) {
    fail([now](const auto& entry) { return now >= entry.second.give_up; });
  }

  static void refuse(const Answer& answer, StatusCode status) {
    PeerRegions none;
    none.status = status;
    answer(none);
  }

 private:
  struct Waiting {
    Time give_up{};
    Answer answer;
  };

  // The answers may ask again.
  template <class Which>
  void fail(const Which& which) {
    std::vector<Answer> failed;
    std::erase_if(waiting_, [&](auto& entry) {
      if (!which(entry)) return false;
      failed.push_back(std::move(entry.second.answer));
      return true;
    });
    for (const Answer& answer : failed) refuse(answer, StatusCode::no_route);
  }

  std::map<std::pair<LinkKey, std::uint64_t>, Waiting> waiting_;  // by link and request
};

}  // namespace tentq
