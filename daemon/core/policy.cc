// Changes at run time: another policy, other limits. No owner is lost.
#include <algorithm>

#include "daemon/core/state.h"

namespace tentq::core {

State::State(const Limits& given, const HardMaxima& most, Policy policy, std::uint64_t seed,
             const CreditTerms& credits)
    : limits(given),
      maxima(most),
      owners(owner_capacity(most)),
      chunks_(std::max(most.owners, kLeastChunks)),
      lanes_(most.lanes, &limits, seed, credits.rules.chunk_bytes),
      receivers_(credits, &lanes_),
      leaves_(most, owner_capacity(most), &owners, &lanes_),
      picker_(most, &leaves_, &lanes_, &owners),
      client_caps_(most.clients),
      wheel_(&owners),
      accounts_(most.sessions, most.clients),
      credit_(most.sessions, &accounts_),
      sessions_(most.sessions),
      untold_(2 * owner_capacity(most)),
      unasked_(owner_capacity(most)),
      refused_(refusal_capacity(most)),
      call_slots_(most.owners),
      scratch_(owner_capacity(most)) {
  apply_limits(given);
  set_policy(policy);
}

// Owners keep the order in which they came into their leaves, also those that are in flight and may
// come back.
void State::set_policy(Policy policy) {
  const bool by_arrival = policy == Policy::fifo || policy == Policy::direct;
  const LeafLayout layout = by_arrival ? LeafLayout::by_arrival : LeafLayout::by_client;
  // Nobody is held by rules that are no longer in force.
  let_all_clients_go();
  receivers_.let_all_go();
  if (layout != leaves_.layout()) {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < owners.high_water(); ++i) {
      if (is_in_leaf(owners[i].state)) scratch_[count++] = i;
    }
    std::uint32_t* first = &scratch_[0];
    std::sort(first, first + count, [this](std::uint32_t a, std::uint32_t b) {
      return owners[a].order < owners[b].order;
    });
    for (std::uint32_t i = 0; i < count; ++i) leaves_.remove(scratch_[i]);
    leaves_.set_layout(layout);
    for (std::uint32_t i = 0; i < count; ++i) leaves_.append(scratch_[i]);
  }
  client_caps_.set_in_force(!by_arrival);
  lanes_.set_policy(policy);
  picker_.set_policy(policy);
}

void State::apply_limits(const Limits& given) {
  limits = given;
  accounts_.set_limits(limits);
  credit_.set_weights(limits);
  credit_.limits_changed();
  picker_.set_limits(limits);
  lanes_.follow_limits();
  receivers_.let_all_go();
  lanes_.measure_all(limits.deadline_mode != DeadlineMode::off);
  leaves_.count_bytes(limits.deadline_mode != DeadlineMode::off);
  let_all_clients_go();
  client_caps_.set_most(limits.client_in_flight_bytes);
}

void State::let_all_clients_go() {
  for (std::uint32_t k = 0; k < maxima.clients; ++k) {
    if (client_caps_.is_held(k)) let_client_go(k);
  }
}

}  // namespace tentq::core
