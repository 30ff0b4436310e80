// The tables of status codes, states and reasons are complete: a name for each, what to do about
// each, and whether repeating the call can help.
#include "proto/status.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace tentq {
namespace {

std::vector<StatusCode> all_codes() {
  std::vector<StatusCode> codes;
  for (std::uint16_t i = 0; i < kStatusCodeCount; ++i) codes.push_back(static_cast<StatusCode>(i));
  return codes;
}

std::vector<Reason> all_reasons() {
  std::vector<Reason> reasons;
  for (std::uint16_t i = 0; i < kReasonCount; ++i) reasons.push_back(static_cast<Reason>(i));
  return reasons;
}

TEST(Status, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (const StatusCode code : all_codes()) {
    EXPECT_NE(to_string(code), "unknown") << static_cast<int>(code);
    EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
  }
  EXPECT_EQ(to_string(static_cast<StatusCode>(kStatusCodeCount)), "unknown");
}

TEST(Status, EveryReasonHasItsOwnName) {
  std::set<std::string_view> names;
  for (const Reason reason : all_reasons()) {
    EXPECT_NE(to_string(reason), "unknown") << static_cast<int>(reason);
    EXPECT_TRUE(names.insert(to_string(reason)).second) << to_string(reason);
  }
  EXPECT_EQ(to_string(static_cast<Reason>(kReasonCount)), "unknown");
}

TEST(Status, EveryStateHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(to_string(static_cast<TaskState>(i)), "unknown") << i;
    EXPECT_TRUE(names.insert(to_string(static_cast<TaskState>(i))).second);
  }
  EXPECT_EQ(to_string(static_cast<TaskState>(5)), "unknown");
}

TEST(Status, EveryFailureSaysWhatToDo) {
  EXPECT_EQ(remedy(StatusCode::ok), "");
  EXPECT_EQ(remedy(Reason::none), "");
  for (const StatusCode code : all_codes()) {
    if (code == StatusCode::ok) continue;
    EXPECT_FALSE(remedy(code).empty()) << to_string(code);
    EXPECT_NE(remedy(code), "unknown status") << to_string(code);
  }
  for (const Reason reason : all_reasons()) {
    if (reason == Reason::none) continue;
    EXPECT_FALSE(remedy(reason).empty()) << to_string(reason);
    EXPECT_NE(remedy(reason), "unknown reason") << to_string(reason);
  }
}

TEST(Status, PermanentRefusalsNeverLookRetryable) {
  const std::set<StatusCode> permanent = {
      StatusCode::invalid_argument, StatusCode::too_large,      StatusCode::unmeetable,
      StatusCode::no_route,         StatusCode::not_permitted,  StatusCode::not_found,
      StatusCode::unsupported,      StatusCode::incompatible,   StatusCode::stale_handle,
      StatusCode::batch_full,       StatusCode::internal_error, StatusCode::quarantined};
  for (const StatusCode code : permanent) EXPECT_FALSE(may_retry(code)) << to_string(code);
  EXPECT_FALSE(may_retry(StatusCode::ok));
  EXPECT_TRUE(may_retry(StatusCode::too_many_requests));
  EXPECT_TRUE(may_retry(StatusCode::draining));
  EXPECT_TRUE(may_retry(StatusCode::busy));
  EXPECT_TRUE(may_retry(StatusCode::daemon_gone));
}

TEST(Status, PermanentReasonsNeverLookRetryable) {
  for (const Reason reason :
       {Reason::none, Reason::stale_handle, Reason::not_permitted, Reason::out_of_range,
        Reason::unknown_region, Reason::unmeetable, Reason::invalid_cell, Reason::too_large,
        Reason::unknown_segment, Reason::over_credit}) {
    EXPECT_FALSE(may_retry(reason)) << to_string(reason);
  }
  EXPECT_TRUE(may_retry(Reason::over_limit));
  EXPECT_TRUE(may_retry(Reason::draining));
}

TEST(Status, OnlyPendingIsNotTerminal) {
  EXPECT_FALSE(is_terminal(TaskState::pending));
  EXPECT_TRUE(is_terminal(TaskState::completed));
  EXPECT_TRUE(is_terminal(TaskState::failed));
  EXPECT_TRUE(is_terminal(TaskState::timeout));
  EXPECT_TRUE(is_terminal(TaskState::canceled));
}

}  // namespace
}  // namespace tentq
