// Drives a core as the conductor does, with nothing around it. One thread. Sixteen sessions of
// eight clients submit calls of sixteen owners in four classes on four lanes under `wdrr`; what
// ends is submitted anew by the same session, so that as many stay queued.
#include "tests/bench/core_bench.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>

#include "daemon/core/core.h"
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

constexpr std::uint32_t kSessions = 16;
constexpr std::uint32_t kClients = 8;
constexpr std::uint32_t kLanes = 4;
constexpr std::uint32_t kCall = 16;  // owners of one call
constexpr std::uint64_t kBytes = 4096;
constexpr std::uint64_t kChunkBytes = 64 << 10;
// Short ones, so that most of them are not interrupted.
constexpr int kRounds = 101;
constexpr std::uint32_t kOwnersPerRound = 2048;
constexpr std::array<ClassId, 4> kClasses = {ClassId::foreground, ClassId::standard,
                                             ClassId::prefetch, ClassId::background};

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

Limits limits_for(std::uint64_t owners) {
  Limits limits;
  limits.host = limits.client = {owners, owners * kBytes, owners};
  limits.internal_reserve = {};
  for (ClassLimits& each : limits.classes) each.outstanding = limits.host;
  limits.classes[index_of(ClassId::foreground)].weight = 8;
  limits.classes[index_of(ClassId::standard)].weight = 4;
  limits.classes[index_of(ClassId::prefetch)].weight = 2;
  return limits;
}

class Load {
 public:
  explicit Load(std::uint64_t queued)
      : capacity_(queued + 16'384),
        core_(limits_for(capacity_),
              {static_cast<std::uint32_t>(capacity_), kSessions, kClients, kLanes}, Policy::wdrr,
              1) {
    flying_.reserve(capacity_);
    for (std::uint32_t s = 0; s < kSessions; ++s) {
      SessionOpened event;
      event.session = SessionId{s};
      event.client = ClientKey{s % kClients};
      event.slots = static_cast<std::uint32_t>(capacity_);
      const std::uint64_t owners = (queued + kSessions * 4 * kCall * 8) / (kSessions * 4);
      for (const ClassId cls : kClasses) {
        event.replayed[index_of(cls)] = {owners, owners * kBytes, owners};
      }
      // No more than its share, so that every session's credit is what it needs.
      event.limit = {4 * owners, 4 * owners * kBytes, 4 * owners};
      core_.handle(event, now_);
      free_slots_[s].resize(capacity_);
      for (std::uint32_t i = 0; i < capacity_; ++i) {
        free_slots_[s][i] = static_cast<std::uint32_t>(capacity_) - 1 - i;
      }
    }
    for (std::uint16_t l = 0; l < kLanes; ++l) {
      core_.handle(LaneOpened{LaneId{l}, kCall * kBytes, kCall, kChunkBytes}, now_);
    }
    // While it runs, half a call of every class of every session waits to be submitted again.
    const std::uint64_t first = queued + kSessions * kClasses.size() * kCall / 2;
    for (std::uint32_t n = 0; n * kCall < first; ++n) {
      submit(n % kSessions, kClasses[n / kSessions % kClasses.size()]);
    }
    take_effects();
  }

  // One turn of the conductor: sixteen chunks come back, and for every sixteen owners that have
  // ended in a session's class a call comes in. Returns how many owners ended.
  std::uint32_t turn() {
    std::swap(flying_, ending_);
    std::uint32_t ended = 0;
    for (const ChunkId& chunk : ending_) {
      if (ended == kCall) {
        flying_.push_back(chunk);
      } else {
        core_.handle(ChunkEnded{chunk, kBytes, Reason::none}, now_);
        ended += 1;
      }
    }
    ending_.clear();
    take_effects();
    now_ += Duration{1000};
    return ended;
  }

  std::uint64_t queued() const { return core_.outstanding().owners; }

 private:
  void submit(std::uint32_t session, ClassId cls) {
    std::array<OwnerSpec, kCall> specs{};
    const std::uint64_t pick = random_.next();
    for (std::uint32_t i = 0; i < kCall; ++i) {
      OwnerSpec& spec = specs[i];
      spec.slot = free_slots_[session].back();
      free_slots_[session].pop_back();
      spec.slot_generation = 1;
      spec.lane = LaneId{static_cast<std::uint16_t>((pick >> (2 * i)) % kLanes)};
      spec.local_region = RegionIndex{0};
      spec.remote_region = RegionIndex{1};
      spec.length = kBytes;
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
      flying_.push_back(chunk->chunk);
    } else if (const auto* ended = std::get_if<OwnerEnded>(&effect)) {
      TENTQ_CHECK(ended->state == TaskState::completed);
      const std::uint32_t session = ended->session.value();
      free_slots_[session].push_back(ended->slot);
      std::uint32_t& owed = owed_[session][index_of(ended->cls)];
      if (++owed < kCall) return;
      owed = 0;
      submit(session, ended->cls);
    }
  }

  std::uint64_t capacity_;
  Time now_ = time_from_ns(1);
  Core core_;
  Random random_;
  std::uint32_t owed_[kSessions][kMaxClasses] = {};
  std::array<std::vector<std::uint32_t>, kSessions> free_slots_;
  std::vector<ChunkId> flying_;
  std::vector<ChunkId> ending_;
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

CoreBenchRow measure(std::uint64_t queued, std::uint64_t* allocated) {
  const auto load = std::make_unique<Load>(queued);
  std::vector<Line> lines(queued);
  std::vector<double> owner_ns;
  std::vector<double> access_ns;
  owner_ns.reserve(kRounds);
  access_ns.reserve(kRounds);
  const auto turns = [&load] {
    std::uint32_t ended = 0;
    while (ended < kOwnersPerRound) ended += load->turn();
  };
  // Until the owners lie in memory as they will: in no order.
  for (std::uint64_t n = 0; n < 2 * queued; n += kOwnersPerRound) turns();
  std::uint64_t at = 1;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t before = allocations.load(std::memory_order_relaxed);
    owner_ns.push_back(ns_of(kOwnersPerRound, turns));
    *allocated += allocations.load(std::memory_order_relaxed) - before;
    access_ns.push_back(ns_of(kOwnersPerRound, [&] { at = walk(lines, at, kOwnersPerRound); }));
  }
  TENTQ_CHECK(at != 0 && load->queued() >= queued / 2);
  return {queued, median(owner_ns), median(access_ns)};
}

}  // namespace

std::vector<CoreBenchRow> run_core_bench(std::uint64_t max_owners,
                                         std::uint64_t* allocations_after_start) {
  *allocations_after_start = 0;
  std::vector<CoreBenchRow> rows;
  for (const std::uint64_t queued : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
    if (queued > std::max<std::uint64_t>(max_owners, 1'000)) break;
    rows.push_back(measure(queued, allocations_after_start));
  }
  return rows;
}
