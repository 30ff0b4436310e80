// Plain types of the tentq C++ interface: codes, Status, Result, options and answers.
// Sizes are bytes; durations are std::chrono::nanoseconds; points in time are those of
// std::chrono::steady_clock (CLOCK_MONOTONIC). Nothing here touches a daemon.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define TENTQ_EXPORT __attribute__((visibility("default")))

namespace tentq {

// Everything public is in an inline namespace: names of a later incompatible interface, and of
// other parts of tentq, cannot be mistaken for these at link time. Write tentq::Status.
inline namespace v1 {

// What a call answers. Values are fixed; new ones are appended.
enum class Code : std::uint16_t {
  ok = 0,
  invalid_argument = 1,   // the call can never succeed as it is
  too_many_requests = 2,  // over a limit now; the same call may succeed later
  too_large = 3,          // larger than a limit; never succeeds
  unmeetable = 4,         // its deadline cannot be met
  no_route = 5,           // no transport reaches the segment
  not_permitted = 6,      // rights, class or uid do not allow it
  draining = 7,           // the daemon takes no new work
  not_found = 8,          // no such segment, region, batch or task
  busy = 9,               // still in use; later
  name_in_use = 10,       // another live process holds the name
  daemon_gone = 11,       // no daemon, or the connection to it was lost
  timeout = 12,           // the wait ended, not the work
  unsupported = 13,       // not available in this build or for this memory
  exhausted = 14,         // memory, file descriptors or sessions are used up
  incompatible = 15,      // protocol versions do not match
  stale_handle = 16,      // the segment's exporter is no longer the one that was opened
  batch_full = 17,        // more tasks than the batch was allocated for
  internal_error = 18,    // a fault of tentq itself
  quarantined = 19,       // the session broke the protocol and is shut out
};

// How a task stands. Once it is anything but pending it never changes again.
enum class State : std::uint8_t {
  pending = 0,
  completed = 1,  // all bytes moved; of a write: the other side sees them
  failed = 2,
  timeout = 3,  // its deadline or its max_queue_wait passed
  canceled = 4,
  invalid = 255,  // there is no such task
};

// Why a task ended other than completed.
enum class TaskReason : std::uint16_t {
  none = 0,
  deadline = 1,
  max_queue_wait = 2,
  canceled = 3,
  shutdown = 4,
  stale_handle = 5,
  not_permitted = 6,
  out_of_range = 7,
  unknown_region = 8,
  no_route = 9,
  peer_lost = 10,
  daemon_gone = 11,
  memory_fault = 12,
  transport_error = 13,
  over_limit = 14,
  over_credit = 15,
  unmeetable = 16,
  draining = 17,
  invalid_cell = 18,
  too_large = 19,
  mailbox_full = 20,
  predecessor_failed = 21,
  unknown_segment = 22,
};

TENTQ_EXPORT std::string_view to_string(Code code);
TENTQ_EXPORT std::string_view to_string(State state);
TENTQ_EXPORT std::string_view to_string(TaskReason reason);
// Whether the identical call or transfer may succeed later.
TENTQ_EXPORT bool may_retry(Code code);
TENTQ_EXPORT bool may_retry(TaskReason reason);
// What to do about it, one sentence; empty when there is nothing to do.
TENTQ_EXPORT std::string_view remedy(Code code);
TENTQ_EXPORT std::string_view remedy(TaskReason reason);

// The answer of a call: a code and, when it is not ok, a text that says what is wrong. A value; an
// ok Status allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : code_(code), text_(std::move(text)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& text() const { return text_; }
  // Whether the identical call may succeed later.
  bool may_retry() const { return tentq::may_retry(code_); }
  // What the caller can do about it; one sentence, empty when ok.
  std::string_view remedy() const { return tentq::remedy(code_); }
  // "too_many_requests: <text>", for logs.
  TENTQ_EXPORT std::string to_string() const;

 private:
  Code code_ = Code::ok;
  std::string text_;
};

// Prints the status to standard error and aborts.
[[noreturn]] TENTQ_EXPORT void abort_without_value(const Status& status);

// A value, or the Status that says why there is none. `*result` and `result->` of a failure print
// the status to standard error and abort.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}            // NOLINT: implicit by design
  Result(Status failure) : status_(std::move(failure)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  // ok() when there is a value.
  const Status& status() const { return status_; }
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }

 private:
  T& checked() {
    if (!value_) abort_without_value(status_);
    return *value_;
  }
  std::optional<T> value_;
  Status status_;
};

// Direction, seen from the caller: read fills local memory, write fills the segment.
enum class Opcode : std::uint8_t { read = 0, write = 1 };

// Traffic classes, most urgent first. What they mean is the operator's configuration; an operator's
// quota may allow the less urgent ones only.
enum class Class : std::uint8_t { foreground = 1, standard = 2, prefetch = 3, background = 4 };

// The class that a name means: a class by its own ("foreground", "default", "prefetch",
// "background"), or what the transfer is for, as users of Mooncake's TENT call it. Case does not
// count, and '-' is '_'. Errors: invalid_argument, with the names that there are.
//   foreground_get                             foreground
//   weight_loading, unspecified                standard ("default")
//   background_prefetch                        prefetch
//   migration, checkpoint, background_offload  background
TENTQ_EXPORT Result<Class> class_by_name(std::string_view name);

// What other clients may do with a region.
enum class Access : std::uint8_t { none = 0, remote_read = 1, remote_read_write = 2 };
// Which clients of this host get it.
enum class Scope : std::uint8_t { same_uid = 0, uid = 1, gid = 2, name = 3, everyone = 4 };

// Rights of a region. An Access alone means: that, for clients of the same uid on this host.
struct Rights {
  Rights(Access access = Access::remote_read_write) : host(access) {}  // NOLINT: implicit by design
  Access host;  // clients of this host that are in `scope`
  Scope scope = Scope::same_uid;
  std::uint32_t scope_id = 0;  // the uid or gid of Scope::uid and Scope::gid
  std::string scope_name{};    // the client name of Scope::name
  Access other_hosts = Access::none;
  bool read_only = false;  // the client itself never reads into it
};

// Called in the registering thread while the daemon makes the memory ready: bytes done, bytes in
// all.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

struct RegisterOptions {
  // Where the region begins in the segment's address space; default: its address in this process.
  std::optional<std::uint64_t> segment_offset{};
  bool sparse = false;  // holes are allowed, if the daemon allows them
  Progress progress{};
};

struct AllocateOptions {
  Rights access{};
  bool huge = false;       // huge pages; the size is rounded up to 2 MiB
  bool registered = true;  // false: register parts of it later with register_memory()
  std::optional<std::uint64_t> segment_offset{};
  Progress progress{};
};

// A registered range of this client's memory. A plain value: it stays registered until
// unregister() or until its client is destroyed. Valid over a daemon's restart.
struct Region {
  std::uint32_t id = 0;  // never reused by this client
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::uint64_t segment_offset = 0;  // where others find it
  // Where others find an address inside it.
  std::uint64_t offset_of(const void* address) const {
    return segment_offset +
           static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - data);
  }
};

// A region of an opened segment.
struct RemoteRegion {
  std::uint64_t offset = 0;  // in the segment's address space
  std::uint64_t size = 0;
  Access access = Access::none;  // that this client has
};

// Names an opened segment in a Request; the same over daemon restarts, never reused by its client.
enum class SegmentId : std::uint32_t { none = 0 };

// One transfer between local registered memory and a range of a segment.
struct Request {
  Opcode op = Opcode::read;
  void* local = nullptr;  // inside one registered region of this client
  SegmentId segment = SegmentId::none;
  std::uint64_t remote_offset =
      0;                   // in the segment's address space: by default the exporter's address
  std::size_t length = 0;  // bytes, not 0
};

// A task's number in its batch: requests count from 0 in the order in which they were submitted.
using TaskId = std::uint32_t;

struct SubmitOptions {
  Class cls = Class::standard;
  // Both count from the call, per request; 0 = none. `deadline` ends with the transfer,
  // `max_queue_wait` with its start. A spent one ends the task as State::timeout. Under the
  // policies strict and wdrr the earliest deadline goes first among this client's requests of one
  // class and direction, and those without one go last.
  std::chrono::nanoseconds deadline{0};
  std::chrono::nanoseconds max_queue_wait{0};
  // Neighbouring requests that are adjacent on both sides become one owner. false keeps each
  // request an owner of its own, so that it can be canceled alone.
  bool merge = true;
  // Never repeated after a daemon's death: ends FAILED with daemon_gone instead.
  bool no_resubmit = false;
  // Shown in `tentqctl owners`; meaningless to the daemon.
  std::uint64_t cookie = 0;
  // If not null: receives the number of the call's first task (for batches that several threads
  // fill).
  TaskId* first_task = nullptr;
};

struct TaskStatus {
  using TimePoint = std::chrono::steady_clock::time_point;
  State state = State::invalid;
  TaskReason reason = TaskReason::none;
  // Moved so far; all of it when completed. Of a task that ended otherwise: a lower bound.
  std::uint64_t bytes = 0;
  // On the daemon's clock (the host's monotonic one); epoch of the clock = not known or never.
  TimePoint enqueued{};
  TimePoint dispatched{};
  TimePoint completed{};
  bool done() const { return state != State::pending; }
  bool may_retry() const { return tentq::may_retry(reason); }
  std::string_view remedy() const { return tentq::remedy(reason); }
};

// A batch as a whole. Its state is pending while any task is; then failed, timeout or canceled if
// any task is (in this order), else completed. An empty batch is completed.
struct BatchStatus {
  State state = State::completed;
  TaskReason reason = TaskReason::none;  // of the first task that did not complete
  std::uint32_t tasks = 0;
  std::uint32_t pending = 0;
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;
  std::uint32_t timeout = 0;
  std::uint32_t canceled = 0;
  std::uint64_t bytes = 0;
  bool done() const { return state != State::pending; }
};

struct ConnectOptions {
  // 1 to 63 of [A-Za-z0-9._-], unique on the host. Empty: anonymous; such a client exports nothing.
  std::string name{};
  // Empty: $TENTQ_SOCKET, else /run/tentq/tentqd.sock.
  std::string socket{};
  // Classes that it will submit to; empty: all that the daemon grants.
  std::vector<Class> classes{};
  // One library thread ("tentq-lib") that sleeps until the daemon has news: it re-attaches after a
  // restart and takes notifications. Without it, calls that need it (exporting memory, receiving
  // notifications) fail unless promise_drive is set, and a daemon's death is noticed only in calls
  // that wait and in drive().
  bool background_thread = true;
  // Promise, without the thread, to call drive() whenever completion_fd() is readable.
  bool promise_drive = false;
  // How long connect() may take altogether. A daemon that is restarting answers within it if its
  // socket is kept open meanwhile (socket activation).
  std::chrono::nanoseconds attach_timeout = std::chrono::seconds{5};
  // After a daemon's death: how long unfinished transfers wait for the next one.
  std::chrono::nanoseconds reattach_timeout = std::chrono::seconds{30};
  // Default of SubmitOptions::no_resubmit for all calls.
  bool no_resubmit = false;
  // How long waiting calls poll before they sleep. Treated as 0 on a one-core machine.
  std::chrono::nanoseconds spin = std::chrono::microseconds{20};
  // Notifications kept until receive_notifications(); further ones are dropped and counted.
  std::size_t mailbox = 1024;
};

// The limits in force for this client, from the daemon.
struct ClientLimits {
  std::uint32_t largest_call = 0;   // owners of one submit, after merging
  std::uint64_t largest_owner = 0;  // bytes of one request, after merging
  std::uint64_t owners = 0;         // outstanding
  std::uint64_t bytes = 0;          // outstanding
  std::uint32_t slots = 0;          // owners outstanding or in batches not yet freed
  std::uint32_t regions = 0;
  // The most urgent class that the client's quota allows, and the quota's name (empty: none). What
  // is submitted above it is refused, or goes there if the operator wants it so.
  Class highest_class = Class::foreground;
  std::string quota{};
};

struct ReceivedNotification {
  std::string sender;  // the client's name; empty when it is anonymous
  std::string name{};
  std::string message;
};

struct NotificationBatch {
  std::vector<ReceivedNotification> notifications;  // in order of arrival
  // Dropped so far because this client did not take them in time, since it connected.
  std::uint64_t lost = 0;
};

// Names a sent notification of this client.
enum class NotificationId : std::uint64_t {};

namespace size_literals {
constexpr std::size_t operator""_KiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 30;
}
}  // namespace size_literals

}  // namespace v1
}  // namespace tentq
