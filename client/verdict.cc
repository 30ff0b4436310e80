// Reasons of refused owners as codes of a call. See verdict.h.
#include "client/verdict.h"

#include "proto/status.h"

namespace tentq::lib {

namespace {

Code code_of(Reason reason) {
  switch (reason) {
    case Reason::stale_handle: return Code::stale_handle;
    case Reason::not_permitted: return Code::not_permitted;
    case Reason::out_of_range:
    case Reason::unknown_region:
    case Reason::unknown_segment:
    case Reason::invalid_cell: return Code::invalid_argument;
    case Reason::no_route:
    case Reason::peer_lost: return Code::no_route;
    case Reason::daemon_gone: return Code::daemon_gone;
    case Reason::over_limit:
    case Reason::over_credit: return Code::too_many_requests;
    case Reason::unmeetable: return Code::unmeetable;
    case Reason::draining: return Code::draining;
    case Reason::too_large: return Code::too_large;
    case Reason::none:
    case Reason::deadline:
    case Reason::max_queue_wait:
    case Reason::canceled:
    case Reason::shutdown:
    case Reason::memory_fault:
    case Reason::transport_error:
    case Reason::mailbox_full:
    case Reason::predecessor_failed: return Code::ok;
  }
  return Code::internal_error;
}

}  // namespace

Status verdict_of(const OwnerView& owner) {
  if (owner.state == TaskState::pending || owner.state == TaskState::completed) return {};
  const Code code = code_of(owner.reason);
  if (code == Code::ok) return {};
  return {code, "refused: " + std::string(to_string(owner.reason)) + "; " +
                    std::string(remedy(owner.reason))};
}

}  // namespace tentq::lib
