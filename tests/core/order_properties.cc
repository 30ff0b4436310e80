// Shares by weight and by turn, ages, delays, lanes: against what a lane of one rate would do.
#include "tests/core/order_properties.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/core/device.h"

namespace tentq::core {
namespace {

constexpr std::uint64_t kS = 4096;
constexpr std::int64_t kNsPerByte = 2;  // 500 MB/s
constexpr ClassId kFg = ClassId::foreground;

std::uint64_t any_seed() {
  return *rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>());
}

// Who shares with whom.
enum class Rivals : std::uint8_t { classes, clients, sessions };

// Two rivals on one lane, whose shares are counted in bytes / weight; beside somebody who keeps
// another lane busy, or foreground that fills the room of its own on the same lane, or nobody.
class Race {
 public:
  Race(Rivals rivals, std::uint64_t seed) : rivals_(rivals), random_(seed), world_(shape()) {
    world_.open_lane(0, kS * (1 + random_() % 5), 8, kS);
    for (std::uint32_t s = 0; s < 2; ++s) {
      world_.open_session(s, rivals == Rivals::sessions ? 0 : s, 1024, bit_of(class_of(s)));
      if (rivals != Rivals::sessions) weigh(s);
    }
    if (random_() % 2 == 0) return;
    bystander_ = true;
    world_.open_lane(1, kS * (1 + random_() % 5), 8, kS);
    bystander_class_ = rivals == Rivals::classes ? ClassId::foreground : class_of(0);
    bystander_lane_ = rivals == Rivals::classes && random_() % 2 == 0 ? 0 : 1;
    world_.open_session(2, rivals == Rivals::sessions ? 0 : 2, 1024, bit_of(bystander_class_));
  }
  // Another weight for one of them.
  void weigh(std::uint32_t s) {
    weights_[s] = 1 + static_cast<std::uint32_t>(random_() % 9);
    least_weights_[s] = std::min(least_weights_[s], weights_[s]);
    if (rivals_ == Rivals::clients) {
      world_.handle(ClientChanged{ClientKey{s}, weights_[s], 0});
      return;
    }
    Limits limits = world_.core.limits();
    limits.classes[index_of(class_of(s))].weight = weights_[s];
    RC_ASSERT(world_.core.set_limits(limits, nullptr) == StatusCode::ok);
  }
  // One chunk comes back; whoever works has more queued than a turn can take.
  void step() {
    for (std::uint32_t s = 0; s < 2; ++s) {
      while (works[s] && left_[s] < 40 * kS) submit(s, class_of(s), 0);
    }
    while (bystander_ && left_[2] < 40 * kS) submit(2, bystander_class_, bystander_lane_);
    world_.take_effects();
    if (!world_.in_flight.empty()) world_.end_oldest();
    for (const DispatchChunk& chunk : world_.dispatched) {
      const std::uint32_t s = chunk.session.value();
      left_[s] -= chunk.length;
      if (s == 2) continue;
      share_[s] += static_cast<double>(chunk.length) / weights_[s];
      if (works[0] && works[1]) {
        RC_ASSERT(std::abs(share_[0] - share_[1]) <= bound() + slack);
      }
    }
    world_.forget();
  }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool has_queued(std::uint32_t s) const { return left_[s] != 0; }
  void count_anew() { share_[0] = share_[1] = 0; }

  bool works[2] = {true, true};
  double slack = 0;

 private:
  static WorldShape shape() {
    WorldShape shape;
    shape.check = false;
    return shape;
  }
  void submit(std::uint32_t s, ClassId cls, std::uint16_t lane) {
    const std::uint64_t length = kS / 4 + random_() % (3 * kS);
    if (!world_.has_credit(s, cls, {1, length, 1})) world_.want(s, cls, {1, length, 1}, true);
    RC_ASSERT(world_.has_credit(s, cls, {1, length, 1}));
    world_.hold_effects = true;
    world_.submit(s, cls, length, lane);
    world_.hold_effects = false;
    left_[s] += length;
  }
  ClassId class_of(std::uint32_t s) const {
    return static_cast<ClassId>(rivals_ == Rivals::classes ? 2 + s : 4);
  }
  double bound() const {
    return static_cast<double>(kS) * (1 + 1.0 / least_weights_[0] + 1.0 / least_weights_[1]);
  }

  Rivals rivals_;
  std::mt19937_64 random_;
  World world_;
  std::uint32_t weights_[2] = {1, 1};
  std::uint32_t least_weights_[2] = {1, 1};
  std::uint64_t left_[3] = {};
  bool bystander_ = false;
  ClassId bystander_class_{};
  std::uint16_t bystander_lane_ = 1;
  double share_[2] = {};
};

WorldShape shape_for(Policy policy, std::uint16_t lanes) {
  WorldShape shape;
  shape.check = false;
  shape.policy = policy;
  shape.maxima.lanes = lanes;
  return shape;
}

}  // namespace

// To within a quantum and a chunk of each, whenever a weight changes.
void shares_by_weight() {
  const auto rivals = static_cast<Rivals>(*rc::gen::inRange(0, 3));
  Race race(rivals, any_seed());
  for (int step = 0; step < 400; ++step) {
    if (rivals != Rivals::sessions && race.draw(25) == 0) {
      race.weigh(static_cast<std::uint32_t>(race.draw(2)));
    }
    race.step();
  }
}

// Whoever comes back after a pause gets its share from then on, and nothing for the pause.
void idling_saves_nothing() {
  const auto rivals = static_cast<Rivals>(*rc::gen::inRange(0, 3));
  Race race(rivals, any_seed());
  race.slack = static_cast<double>(kS);  // of the round in which the count begins
  for (int turn = 0; turn < 4; ++turn) {
    const std::uint32_t idle = static_cast<std::uint32_t>(race.draw(2));
    race.works[idle] = false;
    const std::uint64_t pause = race.draw(100);
    for (std::uint64_t i = 0; i < pause || race.has_queued(idle); ++i) race.step();
    race.works[idle] = true;
    race.count_anew();
    for (int i = 0; i < 100; ++i) race.step();
  }
}

// Under a flood of more urgent work an owner leaves its queue within age_max and the time that what
// is older, and itself, take at a tenth of the rate.
void old_heads_leave() {
  const bool strict_policy = *rc::gen::arbitrary<bool>();
  std::mt19937_64 random(any_seed());
  WorldShape shape = shape_for(strict_policy ? Policy::strict : Policy::wdrr, 1);
  shape.limits.age_max = std::chrono::milliseconds{1};
  shape.limits.classes[index_of(kFg)].strict = true;
  World world(shape);
  Device device(&world, kNsPerByte);
  const std::uint64_t window = kS * (1 + random() % 8);
  world.open_lane(0, window, 64, kS);
  for (std::uint32_t s = 0; s < 4; ++s) world.open_session(s, s % 3);
  struct Waiting {
    std::uint64_t left = 0;
    std::uint64_t older = 0;  // bytes, with its own
    Time submitted{};
  };
  std::map<OwnerId, Waiting> waiting;
  std::uint64_t flood = 0;
  std::uint64_t length = 0;  // of what is submitted now; 0 = of the flood
  device.on_admit = [&](const OwnerId& id) {
    if (length == 0) return;
    Waiting each{length, length, world.now};
    for (const auto& [other_id, other] : waiting) each.older += other.left;
    waiting[id] = each;
  };
  device.on_dispatch = [&](const DispatchChunk& chunk) {
    const auto it = waiting.find(chunk.chunk.owner);
    if (it == waiting.end()) {
      flood -= chunk.length;
      return;
    }
    it->second.left -= chunk.length;
    if (it->second.left != 0) return;
    const auto bytes = static_cast<std::int64_t>(it->second.older + 2 * kS);
    RC_ASSERT(world.now - it->second.submitted <=
              shape.limits.age_max + Duration{10 * bytes * kNsPerByte});
    waiting.erase(it);
  };
  for (int step = 0; step < 3000; ++step) {
    // Never old itself, always more than the lane can take.
    for (length = 0; flood < window + 8 * kS;) {
      flood += kS;
      device.submit(0, kFg, kS, 0);
    }
    if (random() % 40 == 0 && waiting.size() < 40) {
      length = 1 + random() % (6 * kS);
      device.submit(1 + static_cast<std::uint32_t>(random() % 3),
                    static_cast<ClassId>(2 + random() % 3), length, 0);
    }
    device.run(world.now + Duration{static_cast<std::int64_t>(kS) * kNsPerByte});
  }
}

// Foreground is delayed by what others have in flight, one chunk, and its own queue.
void foreground_waits_for_residue() {
  std::mt19937_64 random(any_seed());
  WorldShape shape = shape_for(Policy::wdrr, 1);
  shape.limits.classes[index_of(kFg)].strict = true;
  World world(shape);
  Device device(&world, kNsPerByte);
  world.open_lane(0, kS * (1 + random() % 8), 2 + static_cast<std::uint32_t>(random() % 30), kS);
  for (std::uint32_t s = 0; s < 4; ++s) world.open_session(s, s);
  std::map<OwnerId, Time> due;
  std::map<OwnerId, std::uint64_t> own;  // of foreground: bytes that have not come back
  std::uint64_t others = 0;              // outstanding
  std::uint64_t length = 0;
  bool urgent = false;
  device.on_admit = [&](const OwnerId& id) {
    if (!urgent) return;
    std::uint64_t bytes = length + kS;
    for (const auto& [other_id, other] : own) bytes += other;
    for (std::size_t c = 2; c < kClassCount; ++c)
      bytes += device.in_flight(static_cast<ClassId>(c));
    due[id] = world.now + Duration{static_cast<std::int64_t>(bytes) * kNsPerByte};
    own[id] = length;
  };
  device.on_end = [&](const OwnerEnded& end) {
    if (own.erase(end.owner) == 0) {
      others -= end.length;
      return;
    }
    RC_ASSERT(world.now <= due.at(end.owner));
    due.erase(end.owner);
  };
  for (int step = 0; step < 2000; ++step) {
    for (urgent = false; others < 64 * kS; others += length) {
      length = 1 + random() % (8 * kS);
      device.submit(1 + static_cast<std::uint32_t>(random() % 3),
                    static_cast<ClassId>(2 + random() % 3), length, 0);
    }
    if (random() % 4 == 0 && own.size() < 40) {
      urgent = true;
      length = 1 + random() % (2 * kS);
      device.submit(0, kFg, length, 0);
    }
    device.run(world.now + Duration{static_cast<std::int64_t>(random() % (2 * kS)) * kNsPerByte});
  }
}

// What other lanes have moved at any time is the same to within a chunk, whichever lanes are
// jammed.
void jams_stay_in_their_lanes() {
  constexpr std::uint16_t kLanes = Device::kMostLanes;
  const std::uint64_t seed = any_seed();
  const auto jammed = *rc::gen::inRange<std::uint32_t>(0, 1u << kLanes);
  const Policy policies[] = {Policy::wdrr, Policy::strict, Policy::fifo};
  const Policy policy = policies[*rc::gen::inRange(0, 3)];
  const auto run = [&](std::uint32_t jams) {
    std::mt19937_64 random(seed);
    WorldShape shape = shape_for(policy, kLanes);
    shape.limits.classes[index_of(kFg)].weight = 4;
    shape.limits.classes[index_of(ClassId::background)].in_flight_bytes = 2 * kS;
    shape.limits.age_max = std::chrono::microseconds{500};
    World world(shape);
    Device device(&world, kNsPerByte);
    for (std::uint16_t lane = 0; lane < kLanes; ++lane) {
      world.open_lane(lane, kS * (2 + random() % 4), 64, kS);
      if ((jams >> lane & 1u) != 0) device.jam(lane);
    }
    for (std::uint32_t s = 0; s < 6; ++s) world.open_session(s, s % 4);
    std::vector<std::uint64_t> moved;
    for (int step = 0; step < 300; ++step) {
      device.submit(static_cast<std::uint32_t>(random() % 6),
                    static_cast<ClassId>(1 + random() % 4), 1 + random() % (4 * kS),
                    static_cast<std::uint16_t>(random() % kLanes));
      device.run(world.now + Duration{static_cast<std::int64_t>(random() % kS)});
      for (std::uint16_t lane = 0; lane < kLanes; ++lane) moved.push_back(device.moved(lane));
    }
    return moved;
  };
  const std::vector<std::uint64_t> free = run(0);
  const std::vector<std::uint64_t> beside = run(jammed);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if ((jammed >> i % kLanes & 1u) != 0) continue;
    RC_ASSERT(std::max(free[i], beside[i]) - std::min(free[i], beside[i]) <= kS);
  }
}

}  // namespace tentq::core
