// What a call answers (StatusCode), how a task ends (TaskState) and why (Reason).
// All three cross process borders: values are fixed, new ones are appended.
#pragma once

#include <cstdint>
#include <string_view>

namespace tentq {

enum class StatusCode : std::uint16_t {
  ok = 0,
  invalid_argument = 1,   // the call can never succeed as it is
  too_many_requests = 2,  // over a limit now; the same call may succeed later
  too_large = 3,          // larger than a limit; never succeeds
  unmeetable = 4,         // its deadline cannot be met
  no_route = 5,           // no transport reaches the segment
  not_permitted = 6,      // rights, class or uid do not allow it
  draining = 7,           // the daemon takes no new work
  not_found = 8,          // no such segment, region, batch, task or owner
  busy = 9,               // still in use; later
  name_in_use = 10,       // another live session holds the name
  daemon_gone = 11,       // no daemon, or the connection to it was lost
  timeout = 12,           // the wait ended, not the work
  unsupported = 13,       // not available in this build or for this memory
  exhausted = 14,         // memory, fds or sessions are used up
  incompatible = 15,      // protocol versions do not match
  stale_handle = 16,      // the handle's segment or region is no longer the one that was opened
  batch_full = 17,        // more tasks than the batch was allocated for
  internal_error = 18,    // a fault of ours; logged by the daemon
  quarantined = 19,       // the session broke the protocol and is shut out
};
inline constexpr std::uint16_t kStatusCodeCount = 20;

enum class TaskState : std::uint8_t {
  pending = 0,
  completed = 1,
  failed = 2,
  timeout = 3,
  canceled = 4,
};

enum class Reason : std::uint16_t {
  none = 0,
  deadline = 1,          // the deadline passed
  max_queue_wait = 2,    // not dispatched within max_queue_wait
  canceled = 3,          // the client asked
  shutdown = 4,          // the daemon stops
  stale_handle = 5,      // the segment's exporter is another one than was opened
  not_permitted = 6,     // the region's rights do not allow it
  out_of_range = 7,      // not inside a registered region
  unknown_region = 8,    // the local region is not registered (any more)
  no_route = 9,          // no route within the route budget
  peer_lost = 10,        // the exporter or its host went away
  daemon_gone = 11,      // the daemon died and the work was not to be repeated, or it stayed away
  memory_fault = 12,     // touching the memory failed (truncated, hole, no memory)
  transport_error = 13,  // the transport failed the chunk
  over_limit = 14,       // admitted nothing: a host, class or client limit
  over_credit = 15,      // the client consumed more than was granted
  unmeetable = 16,       // the deadline cannot be met
  draining = 17,         // the daemon takes no new work
  invalid_cell = 18,     // the request broke the protocol
  too_large = 19,        // longer than the largest owner
  mailbox_full = 20,     // the receiver of a notification does not take any more
  predecessor_failed = 21,  // a notification's data did not complete
  unknown_segment = 22,     // the segment handle is not open
};
inline constexpr std::uint16_t kReasonCount = 23;

std::string_view to_string(StatusCode code);
std::string_view to_string(TaskState state);
std::string_view to_string(Reason reason);
// What the user can do about it; one sentence, never empty for a failure.
std::string_view remedy(StatusCode code);
std::string_view remedy(Reason reason);

// Whether the identical call may succeed later. Permanent refusals are never retryable.
bool may_retry(StatusCode code);
bool may_retry(Reason reason);

constexpr bool is_terminal(TaskState state) {
  return state != TaskState::pending;
}

}  // namespace tentq
