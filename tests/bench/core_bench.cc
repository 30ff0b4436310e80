// Drives a core as the conductor does, with nothing around it. One thread. Sessions submit calls of
// sixteen owners under `wdrr`; what ends is submitted anew by the same session in the same class,
// so that as many stay queued. The loads differ in how many there are and where their owners wait.
#include "tests/bench/core_bench.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>

#include "daemon/core/amounts.h"
#include "daemon/core/core.h"
#include "daemon/core/rings.h"
#include "proto/check.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t bytes, std::size_t align) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes = (std::max<std::size_t>(bytes, 1) + align - 1) / align * align;
  void* memory =
      align <= alignof(std::max_align_t) ? std::malloc(bytes) : std::aligned_alloc(align, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Every form that is not replaced here calls one of these.
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using namespace tentq;
using namespace tentq::core;

constexpr std::uint32_t kCall = 16;  // owners of one call
constexpr std::uint64_t kBytes = 4096;
constexpr std::uint64_t kChunkBytes = 64 << 10;
// Deadlines are spread over ten seconds from here, in virtual time.
constexpr std::int64_t kNearestNs = 2'000'000'000;
constexpr std::int64_t kSpreadNs = 10'000'000'000;
// In which as many owners end as are queued and in flight. Much longer, and many deadlines pass.
constexpr std::uint64_t kTurnoverNs = 1'000'000'000;
constexpr std::uint64_t kMostInFlight = 1024;
// Calls of users between two of internal work.
constexpr std::uint32_t kUserCalls = 9;
// Short ones, so that most of them are not interrupted.
constexpr int kRounds = 101;
constexpr std::uint32_t kOwnersPerRound = 2048;
constexpr std::array<ClassId, 4> kClasses = {ClassId::foreground, ClassId::standard,
                                             ClassId::prefetch, ClassId::background};

// What the loads differ in.
struct Shape {
  std::uint32_t sessions;
  std::uint32_t clients;
  std::uint32_t lanes;
  std::uint32_t window_chunks;
  bool one_leaf;  // all in the last session's and lane's
  bool dated;     // every owner has a deadline
  bool internal;  // one call of five is internal work
  // Parts of what is queued, by class.
  std::array<std::uint32_t, 4> parts;
};

constexpr Shape shape_of(CoreLoad load) {
  switch (load) {
    case CoreLoad::plain: return {16, 8, 4, kCall, false, false, false, {1, 1, 1, 1}};
    case CoreLoad::leaf: return {64, 64, 256, kCall, true, true, false, {0, 1, 0, 0}};
    // In the parts that the weights give, so that every class waits for about as long.
    case CoreLoad::spread: return {64, 64, 256, 2, false, true, true, {8, 4, 2, 1}};
  }
  return {};
}

class Random {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_ = 0x9e37'79b9'7f4a'7c15ull;
};

constexpr std::uint64_t kReserve = 4096;  // owners of internal work

Limits limits_for(std::uint64_t owners, const Shape& shape) {
  Limits limits;
  limits.host = limits.client = {owners, owners * kBytes, owners};
  limits.internal_reserve = {};
  if (shape.internal) limits.internal_reserve = {kReserve, kReserve * kBytes, kReserve};
  for (ClassLimits& each : limits.classes) each.outstanding = limits.host;
  limits.classes[index_of(ClassId::foreground)].weight = 8;
  limits.classes[index_of(ClassId::standard)].weight = 4;
  limits.classes[index_of(ClassId::prefetch)].weight = 2;
  return limits;
}

class Load {
 public:
  Load(CoreLoad load, std::uint64_t queued)
      : shape_(shape_of(load)),
        step_ns_(shape_.dated
                     ? static_cast<std::int64_t>(kCall * kTurnoverNs / (queued + kMostInFlight))
                     : 1000),
        capacity_(queued + 49'152),
        core_(
            limits_for(capacity_, shape_),
            {static_cast<std::uint32_t>(capacity_), shape_.sessions, shape_.clients, shape_.lanes},
            Policy::wdrr, 1),
        owed_(shape_.sessions),
        free_slots_(shape_.sessions),
        flying_(kMostFlying) {
    for (std::uint32_t c = 0; c < kClasses.size(); ++c) {
      parts_.insert(parts_.end(), shape_.parts[c], kClasses[c]);
    }
    const std::uint32_t first = shape_.one_leaf ? shape_.sessions - 1 : 0;
    const std::uint32_t used = shape_.sessions - first;
    // While it runs, half a call of every class of every session waits to be submitted again.
    const std::uint64_t enough = queued + used * kClasses.size() * kCall / 2;
    for (std::uint32_t s = 0; s < shape_.sessions; ++s) {
      open(s, s < first ? 0 : (enough + kMostFlying) / kCall / used / parts_.size() + 2);
    }
    for (std::uint16_t l = 0; l < shape_.lanes; ++l) {
      core_.handle(LaneOpened{LaneId{l}, kCall * kBytes, shape_.window_chunks, kChunkBytes}, now_);
    }
    for (std::uint32_t n = 0; this->queued() < enough; ++n) {
      submit(first + n % used, parts_[(n / used + n % used) % parts_.size()]);
      take_effects();
    }
  }

  // One turn of the conductor: sixteen chunks come back, and for every sixteen owners that have
  // ended in a session's class a call comes in. Returns how many owners ended.
  std::uint32_t turn() {
    ended_ = 0;
    const std::uint32_t back = std::min(kCall, flying());
    for (std::uint32_t i = 0; i < back; ++i) {
      const ChunkId chunk = flying_.front();
      flying_.pop();
      core_.handle(ChunkEnded{chunk, kBytes, Reason::none}, now_);
    }
    take_effects();
    now_ += Duration{step_ns_};
    return ended_;
  }

  // An owner is one chunk.
  std::uint64_t queued() const { return core_.outstanding().owners - flying(); }
  // Owners that their deadlines have ended.
  std::uint64_t expired() const { return core_.counters().timed_out; }

 private:
  // Beyond what windows leave room for.
  static constexpr std::uint32_t kMostFlying = 8192;

  // With credit for so many rounds of calls, each of as many as there are parts.
  void open(std::uint32_t session, std::uint64_t rounds) {
    SessionOpened event;
    event.session = SessionId{session};
    event.client = ClientKey{session % shape_.clients};
    event.class_mask |= bit_of(ClassId::internal);
    // No more than its share, so that every session's credit is what it needs.
    for (std::size_t c = 0; c < kClasses.size(); ++c) {
      const std::uint64_t owners = rounds * shape_.parts[c] * kCall;
      const Amounts share{owners, owners * kBytes, owners};
      event.replayed[index_of(kClasses[c])] = share;
      event.limit = plus_saturating(event.limit, share);
    }
    event.slots = static_cast<std::uint32_t>(event.limit.owners + kReserve);
    core_.handle(event, now_);
    std::vector<std::uint32_t>& slots = free_slots_[session];
    for (std::uint32_t slot = event.slots; slot != 0; --slot) slots.push_back(slot - 1);
  }

  std::uint32_t flying() const { return kMostFlying - flying_.left(); }

  void submit_users(std::uint32_t session, ClassId cls) {
    submit(session, cls);
    if (!shape_.internal || ++user_calls_ % kUserCalls != 0) return;
    submit(user_calls_ / kUserCalls % shape_.sessions, ClassId::internal);
  }

  void submit(std::uint32_t session, ClassId cls) {
    std::array<OwnerSpec, kCall> specs{};
    for (OwnerSpec& spec : specs) {
      TENTQ_CHECK(!free_slots_[session].empty());
      spec.slot = free_slots_[session].back();
      free_slots_[session].pop_back();
      spec.slot_generation = 1;
      spec.internal = cls == ClassId::internal;
      const std::uint64_t pick = random_.next();
      const std::uint64_t lane =
          shape_.one_leaf ? shape_.lanes - 1 : (pick & 0xffff) * shape_.lanes >> 16;
      spec.lane = LaneId{static_cast<std::uint16_t>(lane)};
      spec.local_region = RegionIndex{0};
      spec.remote_region = RegionIndex{1};
      spec.length = kBytes;
      if (shape_.dated) {
        const auto part = static_cast<std::int64_t>(pick >> 35);  // of 2^29
        spec.deadline = Duration{kNearestNs + (part * kSpreadNs >> 29)};
      }
    }
    core_.handle(Submitted{SessionId{session}, cls, false, Reason::none, specs}, now_);
  }

  void take_effects() {
    while (const std::optional<Effect> effect = core_.next_urgent_effect()) carry_out(*effect);
    while (core_.next_admission()) {
    }
  }

  void carry_out(const Effect& effect) {
    if (const auto* chunk = std::get_if<DispatchChunk>(&effect)) {
      flying_.push(chunk->chunk);
    } else if (const auto* ended = std::get_if<OwnerEnded>(&effect)) {
      TENTQ_CHECK(ended->state == TaskState::completed ||
                  (shape_.dated && ended->reason == Reason::deadline));
      const std::uint32_t session = ended->session.value();
      free_slots_[session].push_back(ended->slot);
      ended_ += 1;
      if (ended->cls == ClassId::internal) return;  // comes with the calls of users
      std::uint32_t& owed = owed_[session][index_of(ended->cls)];
      if (++owed < kCall) return;
      owed = 0;
      submit_users(session, ended->cls);
    }
  }

  Shape shape_;
  std::int64_t step_ns_;  // virtual time between two turns
  std::uint64_t capacity_;
  Time now_ = time_from_ns(1);
  Core core_;
  Random random_;
  std::uint32_t ended_ = 0;  // owners, in this turn
  std::uint32_t user_calls_ = 0;
  std::vector<ClassId> parts_;
  std::vector<std::array<std::uint32_t, kMaxClasses>> owed_;
  std::vector<std::vector<std::uint32_t>> free_slots_;  // by session
  BoundedRing<ChunkId> flying_;
};

struct alignas(64) Line {
  std::uint64_t value = 0;
  std::uint64_t rest[7] = {};
};

template <class Work>
double ns_of(std::uint64_t count, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(count);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Each access depends on the one before.
std::uint64_t walk(const std::vector<Line>& lines, std::uint64_t at, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    at = (at * 6364136223846793005ull + 1442695040888963407ull) ^
         lines[(at >> 20) % lines.size()].value;
  }
  return at;
}

CoreBenchRow measure(CoreLoad kind, std::uint64_t queued, std::uint64_t* allocated) {
  const auto load = std::make_unique<Load>(kind, queued);
  std::vector<Line> lines(queued);
  std::vector<double> owner_ns;
  std::vector<double> access_ns;
  owner_ns.reserve(kRounds);
  access_ns.reserve(kRounds);
  std::uint64_t ended = 0;
  const auto turns = [&load, &ended] {
    for (const std::uint64_t enough = ended + kOwnersPerRound; ended < enough;) {
      ended += load->turn();
    }
  };
  // Until the owners lie in memory as they will: in no order.
  while (ended < 2 * queued) turns();
  const std::uint64_t ended_before = ended;
  const std::uint64_t expired_before = load->expired();
  std::uint64_t at = 1;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t before = allocations.load(std::memory_order_relaxed);
    owner_ns.push_back(ns_of(kOwnersPerRound, turns));
    *allocated += allocations.load(std::memory_order_relaxed) - before;
    access_ns.push_back(ns_of(kOwnersPerRound, [&] { at = walk(lines, at, kOwnersPerRound); }));
  }
  TENTQ_CHECK(at != 0 && load->queued() >= queued / 2);
  const double expired = static_cast<double>(load->expired() - expired_before) /
                         static_cast<double>(ended - ended_before);
  return {queued, median(owner_ns), median(access_ns), 100 * expired};
}

}  // namespace

CoreBenchResult run_core_bench(CoreLoad load, std::uint64_t max_owners) {
  CoreBenchResult result;
  for (const std::uint64_t queued : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
    if (queued > std::max<std::uint64_t>(max_owners, 1'000)) break;
    result.rows.push_back(measure(load, queued, &result.allocations_after_start));
  }
  return result;
}
