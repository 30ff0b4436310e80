// Lanes in virtual time: each moves what was handed over one chunk after the other, at one rate.
// What is jammed never comes back. For properties about delay and service. One thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>

#include "tests/core/world.h"

namespace tentq::core {

class Device {
 public:
  static constexpr std::uint16_t kMostLanes = 16;

  // One byte takes `ns_per_byte`.
  Device(World* world, std::int64_t ns_per_byte) : world_(world), ns_per_byte_(ns_per_byte) {
    world_->on_effect = [this](const Effect& effect) { note(effect); };
  }
  void jam(std::uint16_t lane) { jammed_[lane] = true; }
  // Everything that ends until then, each at its time; the world's time is `until` afterwards.
  void run(Time until);
  // One owner, in a call of its own, with the credit that it needs.
  void submit(std::uint32_t session, ClassId cls, std::uint64_t length, std::uint16_t lane);

  // Bytes that have come back, of a lane; in flight, of a class.
  std::uint64_t moved(std::uint16_t lane) const { return moved_[lane]; }
  std::uint64_t in_flight(ClassId cls) const { return in_flight_[index_of(cls)]; }
  std::function<void(const OwnerId&)> on_admit;  // before anything of it goes
  std::function<void(const DispatchChunk&)> on_dispatch;
  std::function<void(const OwnerEnded&)> on_end;

 private:
  struct Flying {
    DispatchChunk chunk;
    Time ends{};
  };

  void note(const Effect& effect);

  World* world_;
  std::int64_t ns_per_byte_;
  std::array<std::deque<Flying>, kMostLanes> lanes_;
  std::array<bool, kMostLanes> jammed_{};
  std::array<Time, kMostLanes> busy_until_{};
  std::array<std::uint64_t, kMostLanes> moved_{};
  std::array<std::uint64_t, kMaxClasses> in_flight_{};
  std::map<OwnerId, ClassId> classes_;
  ClassId submitted_ = ClassId::standard;
};

}  // namespace tentq::core
