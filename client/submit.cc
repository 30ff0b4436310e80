// Submitting: all requests of a call become visible to the daemon in one step, or none does.
// Steps, all under the short lock: place and merge into the unpublished end of the batch → sizes →
// daemon's state → credit and slots → cells → one group → counts → doorbell.
#include <algorithm>

#include "client/client_state.h"
#include "proto/check.h"

namespace tentq::lib {

Status ClientState::submit(BatchState& batch, std::span<const Request> requests,
                           const SubmitOptions& options) {
  Shortage shortage = Shortage::none;
  return try_submit(batch, requests, options, &shortage);
}

Status ClientState::try_submit(BatchState& batch, std::span<const Request> requests,
                               const SubmitOptions& options, Shortage* shortage) {
  if (!is_usable()) return why_unusable();
  if (options.deadline.count() < 0 || options.max_queue_wait.count() < 0) {
    return {Code::invalid_argument, "a deadline or queue wait is negative"};
  }
  auto cls = static_cast<ClassId>(options.cls);
  const Guard hold(lock_);
  if (batch.freed) return {Code::invalid_argument, "the batch was freed"};
  Session& session = *session_;
  if (index_of(cls) >= kMaxClasses || !session.granted(cls)) {
    cls = session.class_for(cls);
    if (index_of(cls) >= kMaxClasses || !session.granted(cls)) return refuse_class(session, cls);
  }
  if (requests.empty()) return {};
  session.expect_submit(cls);

  const std::uint32_t first_task = batch.task_count.load(std::memory_order_relaxed);
  const std::uint32_t first_owner = batch.owner_count.load(std::memory_order_relaxed);
  const std::uint32_t room = batch.capacity - first_task;
  const bool fits = requests.size() <= room;
  OwnerBuilder built({&batch.owners[first_owner], room}, {&batch.tasks[first_task], room},
                     first_owner, batch.call_count, session.welcome().limits.largest_owner,
                     options.merge);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Placed placed;
    const SegmentEntry* segment = nullptr;
    if (Status status = place(requests[i], i, &placed, &segment); !status.ok()) return status;
    if (fits) built.add(placed, *segment);
  }
  if (!fits) {
    return {Code::batch_full, "the batch has room for " + std::to_string(room) +
                                  " more tasks, not " + std::to_string(requests.size())};
  }
  if (built.owners() > session.largest_call() || built.bytes() > session.surely_small()) {
    const std::span<const Owner> owners(&batch.owners[first_owner], built.owners());
    if (Status status = check_sizes(session, built, owners); !status.ok()) return status;
  }
  const bool ready = attached_ && !closing_ && !session.lost();
  if (!ready || session.state() != DaemonState::running) {
    if (Status status = check_daemon(session, shortage); !status.ok()) return status;
  }
  const shm::CreditAmounts amounts{built.owners(), built.bytes(), built.owners()};
  if (backlogged(cls) || session.allocator().free() < built.owners()) {
    if (Status status = check_slots(session, cls, built.owners()); !status.ok()) {
      *shortage = Shortage::room;
      return status;
    }
  }
  if (!session.ring(cls).credit.spend(amounts)) {
    *shortage = Shortage::credit;
    return refuse_credit(session, cls, amounts);
  }

  Call& call = batch.calls[batch.call_count];
  call = next_call(cls, options);
  if (!publish(session, batch, call, first_owner, built.owners())) {
    session.ring(cls).credit.unspend(amounts);
    *shortage = Shortage::room;
    return {Code::too_many_requests, "the ring of this class is full"};
  }
  ++batch.call_count;
  // Partners: the acquire loads in batch_state.cc; what breaks is said in batch_state.h.
  batch.owner_count.store(first_owner + built.owners(), std::memory_order_release);
  batch.task_count.store(first_task + built.tasks(), std::memory_order_release);
  if (options.first_task != nullptr) *options.first_task = first_task;
  // Last: it may make a system call, at which a canceled thread ends.
  session.doorbell().published();
  return {};
}

Call ClientState::next_call(ClassId cls, const SubmitOptions& options) {
  const bool timed = options.deadline.count() != 0 || options.max_queue_wait.count() != 0;
  return {.serial = next_call_++,
          .submitted_ns = timed ? now_ns() : 0,
          .deadline_ns = static_cast<std::uint64_t>(options.deadline.count()),
          .max_queue_wait_ns = static_cast<std::uint64_t>(options.max_queue_wait.count()),
          .cookie = options.cookie,
          .asked = static_cast<ClassId>(options.cls),
          .cls = cls,
          .no_resubmit = options.no_resubmit || options_.no_resubmit};
}

Status ClientState::refuse_class(const Session& session, ClassId cls) {
  if (index_of(cls) >= kClassCount || cls == ClassId::internal) {
    return {Code::invalid_argument, "there is no class " + std::to_string(index_of(cls))};
  }
  const Welcome& welcome = session.welcome();
  const std::string name = "class '" + std::string(kClassNames[index_of(cls)]) + '\'';
  if (welcome.highest_class < kClassCount && index_of(cls) < welcome.highest_class) {
    return {Code::not_permitted, name + " is above what quota '" +
                                     std::string(welcome.quota.view()) + "' allows, which is '" +
                                     std::string(kClassNames[welcome.highest_class]) + '\''};
  }
  return {Code::not_permitted, name + " was not granted to this client: it connected for others"};
}

Status ClientState::check_sizes(const Session& session, const OwnerBuilder& built,
                                std::span<const Owner> owners) const {
  const SessionLimits& limits = session.welcome().limits;
  const auto over = [](const char* what, std::uint64_t is, std::uint64_t limit) -> Status {
    return {Code::too_large, "the call has " + std::to_string(is) + " " + what + ", the limit is " +
                                 std::to_string(limit)};
  };
  const std::uint64_t count = built.owners();
  if (count > session.largest_call()) return over("owners", count, session.largest_call());
  if (built.bytes() > limits.bytes) return over("bytes", built.bytes(), limits.bytes);
  if (built.bytes() <= limits.largest_owner) return {};
  for (const Owner& owner : owners) {
    if (owner.length <= limits.largest_owner) continue;
    return {Code::too_large, "a request of " + std::to_string(owner.length) +
                                 " bytes; the largest allowed is " +
                                 std::to_string(limits.largest_owner)};
  }
  return {};
}

Status ClientState::check_daemon(const Session& session, Shortage* shortage) const {
  if (closing_) return {Code::daemon_gone, "this client is being closed"};
  if (!attached_ || session.lost()) {
    *shortage = Shortage::daemon;
    return detached();
  }
  switch (session.state()) {
    case DaemonState::starting:
    case DaemonState::running: return {};
    case DaemonState::draining: return {Code::draining, "the daemon drains and takes no new work"};
    case DaemonState::restarting:
      *shortage = Shortage::daemon;
      return {Code::daemon_gone, "the daemon restarts"};
    case DaemonState::quarantined: break;
  }
  return {Code::quarantined, "the daemon shut this client out; connect again"};
}

Status ClientState::check_slots(Session& session, ClassId cls, std::uint32_t owners) {
  if (backlogged(cls)) {
    return {Code::too_many_requests, "transfers from before the daemon's restart go first"};
  }
  sweep();
  if (session.allocator().free() >= owners) return {};
  return {Code::too_many_requests, "only " + std::to_string(session.allocator().free()) + " of " +
                                       std::to_string(session.sizes().slots) +
                                       " status slots are free; free batches that are done"};
}

namespace {

// Which limit it is, as far as the daemon has said so.
std::string full_text(const Welcome& welcome, LimitLevel full) {
  const std::string most = std::to_string(welcome.limits.owners) + " owners and " +
                           std::to_string(welcome.limits.bytes) + " bytes outstanding";
  const std::string quota(welcome.quota.view());
  switch (full) {
    case LimitLevel::none:
      return quota.empty() ? std::string() : "; quota '" + quota + "' allows " + most;
    case LimitLevel::host: return ": the limit of the host, all clients together, is reached";
    case LimitLevel::cls: return ": the limit of the class is reached";
    case LimitLevel::client:
      return quota.empty() ? ": the limit of a client, " + most + ", is reached"
                           : ": the limit of quota '" + quota + "', " + most + ", is reached";
    case LimitLevel::session:
      return ": the session's " + std::to_string(welcome.sizes.slots) + " slots are taken";
  }
  return {};
}

}  // namespace

// States a wish, so that the daemon knows what would be needed.
Status ClientState::refuse_credit(Session& session, ClassId cls,
                                  const shm::CreditAmounts& amounts) {
  session.ring(cls).credit.wish(amounts);
  session.doorbell().published();
  return {Code::too_many_requests, "over the admission credit of class '" +
                                       std::string(kClassNames[index_of(cls)]) + '\'' +
                                       full_text(session.welcome(), session.full_level(cls))};
}

void ClientState::fill_cell(const Owner& owner, const Call& call, const SlotRef& ref,
                            CellBody* cell) {
  *cell = CellBody{};
  cell->kind = CellKind::transfer;
  cell->op = owner.op;
  cell->flags = static_cast<std::uint16_t>((call.no_resubmit ? kCellNoResubmit : 0) |
                                           (call.asked != call.cls ? kCellDowngraded : 0));
  cell->slot = ref.slot;
  cell->slot_generation = ref.generation;
  cell->local_region = regions_.by_id(owner.region)->session_id;
  cell->remote_segment = segments_.by_id(owner.segment)->handle;
  cell->local_offset = owner.local_offset;
  cell->remote_offset = owner.remote_offset;
  cell->length = owner.length;
  cell->deadline_ns = call.deadline_ns;
  cell->max_queue_wait_ns = call.max_queue_wait_ns;
  cell->cookie = call.cookie;
}

bool ClientState::publish(Session& session, BatchState& batch, const Call& call,
                          std::uint32_t first, std::uint32_t owners) {
  const std::span<SlotRef> refs = std::span(refs_).first(owners);
  TENTQ_CHECK(session.allocator().take(refs));
  for (std::uint32_t i = 0; i < owners; ++i) {
    Owner& owner = batch.owners[first + i];
    fill_cell(owner, call, refs[i], &cells_[i]);
    owner.store(OwnerWord::bound(session.ordinal, refs[i].slot, refs[i].generation));
  }
  if (!session.ring(call.cls).ring.publish(std::span(cells_).first(owners), shm::RingUse::work)) {
    session.allocator().untake(refs);
    return false;
  }
  return true;
}

}  // namespace tentq::lib
