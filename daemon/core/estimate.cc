// Whether a deadline can be met: how many bytes go on the lane before the owner's last one, at most
// and in the order of service, by the rate that the lane keeps nine times of ten. What comes later
// and goes first (a class with more weight, an earlier deadline) is not foreseen.
#include <algorithm>

#include "daemon/core/state.h"

namespace tentq::core {
namespace {

constexpr double kPartOfOldHeads = 10.0 / 9.0;  // they may take a tenth before their turn

// What one party of this weight is served at most while another one gets `own` bytes: shares are by
// weight, but for a quantum and a chunk of each (the bound that deficit round robin keeps).
double most_beside(double own, double own_weight, double weight, double chunk) {
  return weight * (own / own_weight + chunk * (1 + 1 / own_weight + 1 / weight));
}

}  // namespace

// Sessions of one client take turns, a chunk each.
double State::ahead_of_client(const LeafKey& key, double own) const {
  const std::uint32_t sessions = leaves_.sessions_on_lane(key.cls, key.client, key.lane);
  const bool is_among = leaves_.leaf(key).count != 0;
  const double others = static_cast<double>(sessions) - (is_among ? 1 : 0);
  return own + others * most_beside(own, 1, 1, static_cast<double>(lanes_[key.lane].largest_chunk));
}

// Of the class, with the owner: clients share by weight, and no more goes than is queued.
double State::ahead_of_class(const LeafKey& key, double own) const {
  const double weight = picker_.client_weight(key.client);
  const double chunk = static_cast<double>(lanes_[key.lane].largest_chunk);
  const double of_client = ahead_of_client(key, own);
  double sum = of_client;
  leaves_.for_each_client(key.cls, key.lane, [&](std::uint32_t client) {
    if (client == key.client) return;
    sum += most_beside(of_client, weight, picker_.client_weight(client), chunk);
  });
  const double queued = static_cast<double>(lanes_[key.lane].classes[key.cls].queued);
  return std::min(sum, queued + own);
}

// `bytes` of the owner and of its call before it.
double State::bytes_ahead(const LeafKey& key, std::uint64_t bytes, std::uint32_t due_key) const {
  const Lane& lane = lanes_[key.lane];
  const double in_flight = static_cast<double>(lane.in_flight_bytes);
  const double queued = static_cast<double>(lane.queued_bytes());
  if (leaves_.layout() == LeafLayout::by_arrival) {
    return in_flight + queued + static_cast<double>(bytes);
  }
  const double own = static_cast<double>(bytes + leaves_.bytes_until(key, due_key));
  const double of_class = ahead_of_class(key, own);
  const double chunk = static_cast<double>(lanes_[key.lane].largest_chunk);
  const bool all_strict = policy() == Policy::strict;
  const bool is_strict = all_strict || limits.classes[key.cls].strict;
  double sum = of_class + static_cast<double>(lane.classes[index_of(ClassId::internal)].queued);
  for (std::uint32_t c = 1; c < kMaxClasses; ++c) {
    const double others = static_cast<double>(lane.classes[c].queued);
    if (c == key.cls || others == 0) continue;
    if (all_strict || limits.classes[c].strict) {
      // In order: those behind it have their part of old heads only.
      if (!is_strict || c < key.cls) sum += others;
    } else if (!is_strict) {
      const double own_weight = limits.classes[key.cls].weight;
      sum += std::min(others, most_beside(of_class, own_weight, limits.classes[c].weight, chunk));
    }
  }
  return in_flight + std::min(sum * kPartOfOldHeads, queued + static_cast<double>(bytes));
}

bool State::is_unmeetable(const Submitted& call, const OwnerSpec& spec,
                          std::uint64_t before) const {
  if (spec.deadline.count() == 0 || !spec.lane.valid()) return false;
  const std::uint32_t lane = spec.lane.value();
  const double rate = lanes_.window(lane).low_rate(now_ns);
  if (rate <= 0) return false;  // nothing is known of the lane yet
  const std::uint32_t session = call.session.value();
  const LeafKey key = leaves_.key_of(static_cast<std::uint32_t>(index_of(call.cls)),
                                     sessions_[session].client, session, lane);
  const std::int64_t due_ns = later(now_ns, spec.deadline.count());
  const double ahead = bytes_ahead(key, before + spec.length, leaves_.deadlines().key_of(due_ns));
  const double base = static_cast<double>(lanes_.window(lane).base_ns());
  return ahead / rate + base > static_cast<double>(spec.deadline.count());
}

// Owners of a call that are due no later than one of it go before it, and so do those of its own
// deadline that come first: of each deadline on a lane the last one is asked for.
Reason State::judge_deadlines(const Submitted& call, std::span<const OwnerSpec> specs) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    if (specs[i].deadline.count() != 0 && specs[i].lane.valid()) scratch_[count++] = i;
  }
  const auto goes_before = [specs](std::uint32_t a, std::uint32_t b) {
    const OwnerSpec& one = specs[a];
    const OwnerSpec& other = specs[b];
    if (one.lane != other.lane) return one.lane.value() < other.lane.value();
    return one.deadline != other.deadline ? one.deadline < other.deadline : a < b;
  };
  std::uint32_t* first = &scratch_[0];
  if (!std::is_sorted(first, first + count, goes_before)) {
    std::sort(first, first + count, goes_before);
  }
  bool is_late = false;
  std::uint64_t before = 0;  // bytes of the call, on the lane
  for (std::uint32_t n = 0; n < count && !is_late; ++n) {
    const OwnerSpec& spec = specs[scratch_[n]];
    const OwnerSpec* next = n + 1 < count ? &specs[scratch_[n + 1]] : nullptr;
    const bool same_lane = next != nullptr && next->lane == spec.lane;
    const bool is_last = !same_lane || next->deadline != spec.deadline;
    is_late = is_last && is_unmeetable(call, spec, before);
    before = same_lane ? before + spec.length : 0;
  }
  if (!is_late) return Reason::none;
  if (limits.deadline_mode == DeadlineMode::enforce) return Reason::unmeetable;
  counters.admitted_unmeetable += specs.size();
  return Reason::none;
}

}  // namespace tentq::core
