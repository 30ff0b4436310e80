// Conversions of the C interface, its texts and its enums. See c_types.h.
#include "client/c_types.h"

#include <string>

namespace tentq::lib {

namespace {

template <class A, class B>
constexpr bool same(A a, B b) {
  return static_cast<unsigned>(a) == static_cast<unsigned>(b);
}
static_assert(same(TENTQ_OK, Code::ok) && same(TENTQ_QUARANTINED, Code::quarantined));
static_assert(same(TENTQ_TOO_MANY_REQUESTS, Code::too_many_requests));
static_assert(same(TENTQ_DAEMON_GONE, Code::daemon_gone) &&
              same(TENTQ_BATCH_FULL, Code::batch_full));
static_assert(same(TENTQ_INVALID_ARGUMENT, Code::invalid_argument));
static_assert(same(TENTQ_TOO_LARGE, Code::too_large) && same(TENTQ_TIMEOUT, Code::timeout));
static_assert(same(TENTQ_COMPLETED, State::completed) && same(TENTQ_FAILED, State::failed));
static_assert(same(TENTQ_TIMED_OUT, State::timeout) && same(TENTQ_CANCELED, State::canceled));
static_assert(same(TENTQ_NO_TASK, State::invalid) && same(TENTQ_PENDING, State::pending));
static_assert(same(TENTQ_READ, Opcode::read) && same(TENTQ_WRITE, Opcode::write));
static_assert(same(TENTQ_FOREGROUND, Class::foreground) && same(TENTQ_STANDARD, Class::standard));
static_assert(same(TENTQ_PREFETCH, Class::prefetch) && same(TENTQ_BACKGROUND, Class::background));
static_assert(same(TENTQ_REMOTE_READ_WRITE, Access::remote_read_write));
static_assert(same(TENTQ_NAME, Scope::name) && same(TENTQ_EVERYONE, Scope::everyone));

thread_local std::string last_error;

std::int64_t ns_of(TaskStatus::TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

tentq_code answer(const Status& status) {
  if (!status.ok()) last_error = status.text();
  return static_cast<tentq_code>(status.code());
}

std::chrono::nanoseconds to_duration(std::uint64_t ns) {
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX))};
}

ConnectOptions to_options(const tentq_connect_options* from) {
  const tentq_connect_options given = read_struct(from);
  ConnectOptions options;
  if (given.name != nullptr) options.name = given.name;
  if (given.socket != nullptr) options.socket = given.socket;
  for (std::uint32_t cls = 0; cls < 32; ++cls) {
    if (((given.class_mask >> cls) & 1) != 0) options.classes.push_back(static_cast<Class>(cls));
  }
  options.background_thread = given.no_background_thread == 0;
  options.promise_drive = given.promise_drive != 0;
  options.no_resubmit = given.no_resubmit != 0;
  if (given.attach_timeout_ns != 0) options.attach_timeout = to_duration(given.attach_timeout_ns);
  if (given.reattach_timeout_ns != 0) {
    options.reattach_timeout = to_duration(given.reattach_timeout_ns);
  }
  if (given.spin_ns != 0) options.spin = to_duration(given.spin_ns);
  if (given.no_spin != 0) options.spin = std::chrono::nanoseconds{0};
  if (given.mailbox != 0) options.mailbox = given.mailbox;
  return options;
}

Rights to_rights(const tentq_rights* from) {
  if (from == nullptr) return {};
  const tentq_rights given = read_struct(from);
  Rights rights(static_cast<Access>(given.host));
  rights.scope = static_cast<Scope>(given.scope);
  rights.scope_id = given.scope_id;
  if (given.scope_name != nullptr) rights.scope_name = given.scope_name;
  rights.other_hosts = static_cast<Access>(given.other_hosts);
  rights.read_only = given.read_only != 0;
  return rights;
}

SubmitOptions to_options(const tentq_submit_options* from, TaskId* first_task) {
  const tentq_submit_options given = read_struct(from);
  SubmitOptions options;
  if (given.cls != 0) options.cls = static_cast<Class>(given.cls);
  options.deadline = to_duration(given.deadline_ns);
  options.max_queue_wait = to_duration(given.max_queue_wait_ns);
  options.merge = given.no_merge == 0;
  options.no_resubmit = given.no_resubmit != 0;
  options.cookie = given.cookie;
  options.first_task = first_task;
  return options;
}

void write_status(const TaskStatus& status, tentq_task_status* to) {
  tentq_task_status from{};
  from.state = static_cast<std::uint32_t>(status.state);
  from.reason = static_cast<std::uint16_t>(status.reason);
  from.bytes = status.bytes;
  from.enqueued_ns = ns_of(status.enqueued);
  from.dispatched_ns = ns_of(status.dispatched);
  from.completed_ns = ns_of(status.completed);
  write_struct(from, to);
}

void write_status(const BatchStatus& status, tentq_batch_status* to) {
  tentq_batch_status from{};
  from.state = static_cast<std::uint32_t>(status.state);
  from.reason = static_cast<std::uint16_t>(status.reason);
  from.tasks = status.tasks;
  from.pending = status.pending;
  from.completed = status.completed;
  from.failed = status.failed;
  from.timed_out = status.timeout;
  from.canceled = status.canceled;
  from.bytes = status.bytes;
  write_struct(from, to);
}

void write_region(const Region& region, tentq_region* to) {
  tentq_region from{};
  from.id = region.id;
  from.data = region.data;
  from.bytes = region.size;
  from.segment_offset = region.segment_offset;
  write_struct(from, to);
}

}  // namespace tentq::lib

// The texts are string literals behind string_views, so they are terminated.
extern "C" {

const char* tentq_code_name(tentq_code code) {
  return tentq::to_string(static_cast<tentq::Code>(code)).data();
}
const char* tentq_state_name(tentq_state state) {
  return tentq::to_string(static_cast<tentq::State>(state)).data();
}
const char* tentq_reason_name(uint16_t reason) {
  return tentq::to_string(static_cast<tentq::TaskReason>(reason)).data();
}
const char* tentq_code_remedy(tentq_code code) {
  return tentq::remedy(static_cast<tentq::Code>(code)).data();
}
const char* tentq_reason_remedy(uint16_t reason) {
  return tentq::remedy(static_cast<tentq::TaskReason>(reason)).data();
}
int tentq_may_retry(tentq_code code) {
  return tentq::may_retry(static_cast<tentq::Code>(code)) ? 1 : 0;
}
int tentq_reason_may_retry(uint16_t reason) {
  return tentq::may_retry(static_cast<tentq::TaskReason>(reason)) ? 1 : 0;
}
const char* tentq_last_error(void) {
  return tentq::lib::last_error.c_str();
}

}  // extern "C"
