// The words that listings use for enumerations; the same as in the glossary.
#include "daemon/queries/answers.h"

namespace tentq {

std::string_view to_string(Violation violation) {
  switch (violation) {
    case Violation::tail_out_of_range: return "tail_out_of_range";
    case Violation::bad_sequence: return "bad_sequence";
    case Violation::bad_group: return "bad_group";
    case Violation::reserved_bits: return "reserved_bits";
    case Violation::bad_slot: return "bad_slot";
    case Violation::unknown_region: return "unknown_region";
    case Violation::unknown_segment: return "unknown_segment";
    case Violation::not_permitted: return "not_permitted";
    case Violation::out_of_range: return "out_of_range";
    case Violation::bad_length: return "bad_length";
    case Violation::bad_class: return "bad_class";
    case Violation::over_credit: return "over_credit";
    case Violation::bad_arena: return "bad_arena";
    case Violation::bad_message: return "bad_message";
    case Violation::surplus_fds: return "surplus_fds";
  }
  return "unknown";
}

namespace answers {

std::string_view policy_name(core::Policy policy) {
  switch (policy) {
    case core::Policy::direct: return "direct";
    case core::Policy::fifo: return "fifo";
    case core::Policy::strict: return "strict";
    case core::Policy::wdrr: return "wdrr";
  }
  return "unknown";
}

std::string_view owner_state_name(core::OwnerState state) {
  switch (state) {
    case core::OwnerState::free: return "free";
    case core::OwnerState::queued: return "queued";
    case core::OwnerState::route_pending: return "route_pending";
    case core::OwnerState::dispatching: return "dispatching";
    case core::OwnerState::submitted: return "submitted";
    case core::OwnerState::draining: return "draining";
    case core::OwnerState::completed: return "completed";
    case core::OwnerState::failed: return "failed";
    case core::OwnerState::canceled: return "canceled";
  }
  return "unknown";
}

std::optional<core::OwnerState> owner_state_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(core::OwnerState::canceled); ++i) {
    const auto state = static_cast<core::OwnerState>(i);
    if (owner_state_name(state) == name && state != core::OwnerState::free) return state;
  }
  return std::nullopt;
}

std::string_view daemon_state_name(DaemonState state) {
  switch (state) {
    case DaemonState::starting: return "starting";
    case DaemonState::running: return "running";
    case DaemonState::draining: return "draining";
    case DaemonState::restarting: return "restarting";
    case DaemonState::quarantined: return "quarantined";
  }
  return "unknown";
}

std::string_view wait_cause_name(core::WaitCause cause) {
  switch (cause) {
    case core::WaitCause::none: return "none";
    case core::WaitCause::route: return "route";
    case core::WaitCause::window: return "window";
    case core::WaitCause::receiver: return "receiver";
    case core::WaitCause::class_cap: return "class_cap";
    case core::WaitCause::reserve: return "reserve";
    case core::WaitCause::client_cap: return "client_cap";
    case core::WaitCause::order: return "order";
    case core::WaitCause::session_order: return "session_order";
    case core::WaitCause::client_order: return "client_order";
    case core::WaitCause::class_order: return "class_order";
    case core::WaitCause::aging: return "aging";
    case core::WaitCause::backoff: return "backoff";
    case core::WaitCause::draining: return "draining";
  }
  return "unknown";
}

}  // namespace answers
}  // namespace tentq
