// The transition function: every allowed step, and that all others are our bugs.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "daemon/core/owner.h"

namespace tentq::core {
namespace {

constexpr std::array kStates = {
    OwnerState::free,        OwnerState::queued,    OwnerState::route_pending,
    OwnerState::dispatching, OwnerState::submitted, OwnerState::draining,
    OwnerState::completed,   OwnerState::failed,    OwnerState::canceled};
constexpr std::array kActions = {
    OwnerAction::admit,         OwnerAction::admit_unrouted, OwnerAction::route,
    OwnerAction::hand_over,     OwnerAction::hand_over_last, OwnerAction::take_back,
    OwnerAction::take_back_all, OwnerAction::drain,          OwnerAction::complete,
    OwnerAction::fail,          OwnerAction::cancel,         OwnerAction::retire};

const std::set<std::tuple<OwnerState, OwnerAction, OwnerState>> kAllowed = {
    {OwnerState::free, OwnerAction::admit, OwnerState::queued},
    {OwnerState::free, OwnerAction::admit_unrouted, OwnerState::route_pending},
    {OwnerState::route_pending, OwnerAction::route, OwnerState::queued},
    {OwnerState::queued, OwnerAction::hand_over, OwnerState::dispatching},
    {OwnerState::dispatching, OwnerAction::hand_over, OwnerState::dispatching},
    {OwnerState::queued, OwnerAction::hand_over_last, OwnerState::submitted},
    {OwnerState::dispatching, OwnerAction::hand_over_last, OwnerState::submitted},
    {OwnerState::dispatching, OwnerAction::take_back, OwnerState::dispatching},
    {OwnerState::submitted, OwnerAction::take_back, OwnerState::dispatching},
    {OwnerState::dispatching, OwnerAction::take_back_all, OwnerState::queued},
    {OwnerState::submitted, OwnerAction::take_back_all, OwnerState::queued},
    {OwnerState::dispatching, OwnerAction::drain, OwnerState::draining},
    {OwnerState::submitted, OwnerAction::drain, OwnerState::draining},
    {OwnerState::submitted, OwnerAction::complete, OwnerState::completed},
    {OwnerState::draining, OwnerAction::complete, OwnerState::completed},
    {OwnerState::queued, OwnerAction::fail, OwnerState::failed},
    {OwnerState::route_pending, OwnerAction::fail, OwnerState::failed},
    {OwnerState::dispatching, OwnerAction::fail, OwnerState::failed},
    {OwnerState::submitted, OwnerAction::fail, OwnerState::failed},
    {OwnerState::draining, OwnerAction::fail, OwnerState::failed},
    {OwnerState::queued, OwnerAction::cancel, OwnerState::canceled},
    {OwnerState::route_pending, OwnerAction::cancel, OwnerState::canceled},
    {OwnerState::dispatching, OwnerAction::cancel, OwnerState::canceled},
    {OwnerState::submitted, OwnerAction::cancel, OwnerState::canceled},
    {OwnerState::draining, OwnerAction::cancel, OwnerState::canceled},
    {OwnerState::completed, OwnerAction::retire, OwnerState::free},
    {OwnerState::failed, OwnerAction::retire, OwnerState::free},
    {OwnerState::canceled, OwnerAction::retire, OwnerState::free},
};

TEST(OwnerStates, EveryAllowedStepLeadsWhereThePictureSays) {
  for (const auto& [from, action, to] : kAllowed) EXPECT_EQ(next_state(from, action), to);
}

TEST(OwnerStates, NoCompletionBeforeDispatchAndNoOtherImpossibleStep) {
  GTEST_FLAG_SET(death_test_style, "fast");
  for (const OwnerState from : kStates) {
    for (const OwnerAction action : kActions) {
      const bool allowed = std::any_of(kAllowed.begin(), kAllowed.end(), [&](const auto& step) {
        return std::get<0>(step) == from && std::get<1>(step) == action;
      });
      if (allowed) continue;
      EXPECT_DEATH(next_state(from, action), "check failed");
    }
  }
}

TEST(OwnerStates, EveryStateIsQueuedInFlightOrEnded) {
  for (const OwnerState state : kStates) {
    EXPECT_EQ(is_live(state), is_queued(state) || is_in_flight(state));
    EXPECT_FALSE(is_queued(state) && is_in_flight(state));
  }
}

}  // namespace
}  // namespace tentq::core
