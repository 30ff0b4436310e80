// Names, remedies and retry rules of status codes and reasons. Every switch names every case.
#include "proto/status.h"

namespace tentq {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::invalid_argument: return "invalid_argument";
    case StatusCode::too_many_requests: return "too_many_requests";
    case StatusCode::too_large: return "too_large";
    case StatusCode::unmeetable: return "unmeetable";
    case StatusCode::no_route: return "no_route";
    case StatusCode::not_permitted: return "not_permitted";
    case StatusCode::draining: return "draining";
    case StatusCode::not_found: return "not_found";
    case StatusCode::busy: return "busy";
    case StatusCode::name_in_use: return "name_in_use";
    case StatusCode::daemon_gone: return "daemon_gone";
    case StatusCode::timeout: return "timeout";
    case StatusCode::unsupported: return "unsupported";
    case StatusCode::exhausted: return "exhausted";
    case StatusCode::incompatible: return "incompatible";
    case StatusCode::stale_handle: return "stale_handle";
    case StatusCode::batch_full: return "batch_full";
    case StatusCode::internal_error: return "internal_error";
    case StatusCode::quarantined: return "quarantined";
  }
  return "unknown";
}

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::pending: return "pending";
    case TaskState::completed: return "completed";
    case TaskState::failed: return "failed";
    case TaskState::timeout: return "timeout";
    case TaskState::canceled: return "canceled";
  }
  return "unknown";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::none: return "none";
    case Reason::deadline: return "deadline";
    case Reason::max_queue_wait: return "max_queue_wait";
    case Reason::canceled: return "canceled";
    case Reason::shutdown: return "shutdown";
    case Reason::stale_handle: return "stale_handle";
    case Reason::not_permitted: return "not_permitted";
    case Reason::out_of_range: return "out_of_range";
    case Reason::unknown_region: return "unknown_region";
    case Reason::no_route: return "no_route";
    case Reason::peer_lost: return "peer_lost";
    case Reason::daemon_gone: return "daemon_gone";
    case Reason::memory_fault: return "memory_fault";
    case Reason::transport_error: return "transport_error";
    case Reason::over_limit: return "over_limit";
    case Reason::over_credit: return "over_credit";
    case Reason::unmeetable: return "unmeetable";
    case Reason::draining: return "draining";
    case Reason::invalid_cell: return "invalid_cell";
    case Reason::too_large: return "too_large";
    case Reason::mailbox_full: return "mailbox_full";
    case Reason::predecessor_failed: return "predecessor_failed";
    case Reason::unknown_segment: return "unknown_segment";
  }
  return "unknown";
}

std::string_view remedy(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "";
    case StatusCode::invalid_argument: return "correct the call; the same call will fail again";
    case StatusCode::too_many_requests:
      return "retry when something has completed, or use submit_wait";
    case StatusCode::too_large: return "split the call; it is larger than a limit of this daemon";
    case StatusCode::unmeetable: return "give it more time, or drop it";
    case StatusCode::no_route: return "check the segment's address and `tentqctl lanes`";
    case StatusCode::not_permitted:
      return "ask the exporter for the right, or the operator for the class";
    case StatusCode::draining: return "retry after the daemon has been resumed or restarted";
    case StatusCode::not_found: return "check the name with `tentqctl segments`";
    case StatusCode::busy: return "retry when its transfers have ended";
    case StatusCode::name_in_use: return "choose another name, or end the process that holds it";
    case StatusCode::daemon_gone:
      return "start tentqd, or check the socket's path with `tentqctl doctor`";
    case StatusCode::timeout: return "wait again; the work goes on";
    case StatusCode::unsupported: return "use memory from allocate() or register_fd()";
    case StatusCode::exhausted:
      return "free memory, file descriptors or sessions; see `tentqctl doctor`";
    case StatusCode::incompatible:
      return "install client and daemon of the same major protocol version";
    case StatusCode::stale_handle: return "open the segment again";
    case StatusCode::batch_full: return "allocate a larger batch";
    case StatusCode::internal_error: return "report it with the output of `tentqctl errors`";
    case StatusCode::quarantined:
      return "report it: the client library wrote an impossible request";
  }
  return "unknown status";
}

std::string_view remedy(Reason reason) {
  switch (reason) {
    case Reason::none: return "";
    case Reason::deadline: return "give it more time, or a more urgent class";
    case Reason::max_queue_wait: return "allow a longer wait, or a more urgent class";
    case Reason::canceled: return "none needed; the client asked for it";
    case Reason::shutdown: return "submit again after the daemon's restart";
    case Reason::stale_handle: return "open the segment again";
    case Reason::not_permitted: return "register the region with the right that the peer needs";
    case Reason::out_of_range: return "check offset and length against the segment's regions";
    case Reason::unknown_region: return "register the local memory first";
    case Reason::no_route: return "check that the exporter runs: `tentqctl segments`";
    case Reason::peer_lost: return "open the segment again when the exporter is back";
    case Reason::daemon_gone: return "submit again after the daemon's restart";
    case Reason::memory_fault:
      return "do not truncate or punch registered memory; check memory limits";
    case Reason::transport_error: return "see `tentqctl errors`";
    case Reason::over_limit: return "retry when something has completed";
    case Reason::over_credit: return "report it: the client library overdrew its credit";
    case Reason::unmeetable: return "give it more time, or drop it";
    case Reason::draining: return "retry after the daemon has been resumed or restarted";
    case Reason::invalid_cell: return "report it: the client library wrote an impossible request";
    case Reason::too_large: return "split the request";
    case Reason::mailbox_full: return "retry when the receiver has taken its notifications";
    case Reason::predecessor_failed: return "see the status of the batch it was sent after";
    case Reason::unknown_segment: return "open the segment first";
  }
  return "unknown reason";
}

bool may_retry(StatusCode code) {
  switch (code) {
    case StatusCode::too_many_requests:
    case StatusCode::draining:
    case StatusCode::busy:
    case StatusCode::daemon_gone:
    case StatusCode::timeout:
    case StatusCode::exhausted: return true;
    case StatusCode::ok:
    case StatusCode::invalid_argument:
    case StatusCode::too_large:
    case StatusCode::unmeetable:
    case StatusCode::no_route:
    case StatusCode::not_permitted:
    case StatusCode::not_found:
    case StatusCode::name_in_use:
    case StatusCode::unsupported:
    case StatusCode::incompatible:
    case StatusCode::stale_handle:
    case StatusCode::batch_full:
    case StatusCode::internal_error:
    case StatusCode::quarantined: return false;
  }
  return false;
}

bool may_retry(Reason reason) {
  switch (reason) {
    case Reason::max_queue_wait:
    case Reason::shutdown:
    case Reason::daemon_gone:
    case Reason::over_limit:
    case Reason::draining:
    case Reason::mailbox_full: return true;
    case Reason::none:
    case Reason::deadline:
    case Reason::canceled:
    case Reason::stale_handle:
    case Reason::not_permitted:
    case Reason::out_of_range:
    case Reason::unknown_region:
    case Reason::no_route:
    case Reason::peer_lost:
    case Reason::memory_fault:
    case Reason::transport_error:
    case Reason::over_credit:
    case Reason::unmeetable:
    case Reason::invalid_cell:
    case Reason::too_large:
    case Reason::predecessor_failed:
    case Reason::unknown_segment: return false;
  }
  return false;
}

}  // namespace tentq
