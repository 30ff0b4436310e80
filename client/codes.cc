// The public enums are the protocol's, value by value; their names and remedies come from proto.
#include "proto/status.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "proto/cell.h"
#include "proto/classes.h"
#include "proto/control.h"
#include "tentq/types.hpp"

namespace tentq {

namespace {

template <class A, class B>
constexpr bool same(A a, B b) {
  return static_cast<unsigned>(a) == static_cast<unsigned>(b) &&
         std::is_same_v<std::underlying_type_t<A>, std::underlying_type_t<B>>;
}

static_assert(same(Code::ok, StatusCode::ok));
static_assert(same(Code::invalid_argument, StatusCode::invalid_argument));
static_assert(same(Code::too_many_requests, StatusCode::too_many_requests));
static_assert(same(Code::too_large, StatusCode::too_large));
static_assert(same(Code::unmeetable, StatusCode::unmeetable));
static_assert(same(Code::no_route, StatusCode::no_route));
static_assert(same(Code::not_permitted, StatusCode::not_permitted));
static_assert(same(Code::draining, StatusCode::draining));
static_assert(same(Code::not_found, StatusCode::not_found));
static_assert(same(Code::busy, StatusCode::busy));
static_assert(same(Code::name_in_use, StatusCode::name_in_use));
static_assert(same(Code::daemon_gone, StatusCode::daemon_gone));
static_assert(same(Code::timeout, StatusCode::timeout));
static_assert(same(Code::unsupported, StatusCode::unsupported));
static_assert(same(Code::exhausted, StatusCode::exhausted));
static_assert(same(Code::incompatible, StatusCode::incompatible));
static_assert(same(Code::stale_handle, StatusCode::stale_handle));
static_assert(same(Code::batch_full, StatusCode::batch_full));
static_assert(same(Code::internal_error, StatusCode::internal_error));
static_assert(same(Code::quarantined, StatusCode::quarantined));
static_assert(kStatusCodeCount == 20, "a new status code needs its public Code");

static_assert(same(State::pending, TaskState::pending));
static_assert(same(State::completed, TaskState::completed));
static_assert(same(State::failed, TaskState::failed));
static_assert(same(State::timeout, TaskState::timeout));
static_assert(same(State::canceled, TaskState::canceled));

static_assert(same(TaskReason::none, Reason::none));
static_assert(same(TaskReason::deadline, Reason::deadline));
static_assert(same(TaskReason::max_queue_wait, Reason::max_queue_wait));
static_assert(same(TaskReason::canceled, Reason::canceled));
static_assert(same(TaskReason::shutdown, Reason::shutdown));
static_assert(same(TaskReason::stale_handle, Reason::stale_handle));
static_assert(same(TaskReason::not_permitted, Reason::not_permitted));
static_assert(same(TaskReason::out_of_range, Reason::out_of_range));
static_assert(same(TaskReason::unknown_region, Reason::unknown_region));
static_assert(same(TaskReason::no_route, Reason::no_route));
static_assert(same(TaskReason::peer_lost, Reason::peer_lost));
static_assert(same(TaskReason::daemon_gone, Reason::daemon_gone));
static_assert(same(TaskReason::memory_fault, Reason::memory_fault));
static_assert(same(TaskReason::transport_error, Reason::transport_error));
static_assert(same(TaskReason::over_limit, Reason::over_limit));
static_assert(same(TaskReason::over_credit, Reason::over_credit));
static_assert(same(TaskReason::unmeetable, Reason::unmeetable));
static_assert(same(TaskReason::draining, Reason::draining));
static_assert(same(TaskReason::invalid_cell, Reason::invalid_cell));
static_assert(same(TaskReason::too_large, Reason::too_large));
static_assert(same(TaskReason::mailbox_full, Reason::mailbox_full));
static_assert(same(TaskReason::predecessor_failed, Reason::predecessor_failed));
static_assert(same(TaskReason::unknown_segment, Reason::unknown_segment));
static_assert(kReasonCount == 23, "a new reason needs its public TaskReason");

static_assert(same(Opcode::read, Op::read) && same(Opcode::write, Op::write));
static_assert(same(Class::foreground, ClassId::foreground));
static_assert(same(Class::standard, ClassId::standard));
static_assert(same(Class::prefetch, ClassId::prefetch));
static_assert(same(Class::background, ClassId::background));
static_assert(same(Access::none, RegionAccess::none) &&
              same(Access::remote_read, RegionAccess::read) &&
              same(Access::remote_read_write, RegionAccess::read_write));
static_assert(same(Scope::same_uid, RegionScope::same_uid) && same(Scope::uid, RegionScope::uid) &&
              same(Scope::gid, RegionScope::gid) && same(Scope::name, RegionScope::name) &&
              same(Scope::everyone, RegionScope::everyone));

StatusCode to_proto(Code code) {
  return static_cast<StatusCode>(code);
}
Reason to_proto(TaskReason reason) {
  return static_cast<Reason>(reason);
}

}  // namespace

inline namespace v1 {

Result<Class> class_by_name(std::string_view name) {
  const std::optional<ClassId> cls = class_named(name);
  if (cls) return static_cast<Class>(*cls);
  return Status(Code::invalid_argument, "there is no class '" + std::string(name.substr(0, 64)) +
                                            "'; give " + std::string(kClassWords));
}

std::string_view to_string(Code code) {
  return to_string(to_proto(code));
}
std::string_view to_string(State state) {
  if (state == State::invalid) return "invalid";
  return to_string(static_cast<TaskState>(state));
}
std::string_view to_string(TaskReason reason) {
  return to_string(to_proto(reason));
}
bool may_retry(Code code) {
  return may_retry(to_proto(code));
}
bool may_retry(TaskReason reason) {
  return may_retry(to_proto(reason));
}
std::string_view remedy(Code code) {
  return remedy(to_proto(code));
}
std::string_view remedy(TaskReason reason) {
  return remedy(to_proto(reason));
}

std::string Status::to_string() const {
  std::string result(tentq::to_string(code_));
  if (!text_.empty()) result.append(": ").append(text_);
  return result;
}

void abort_without_value(const Status& status) {
  std::fprintf(stderr, "tentq: a failed Result was used as a value: %s\n",
               status.to_string().c_str());
  std::abort();
}

}  // namespace v1
}  // namespace tentq
