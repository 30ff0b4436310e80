// Unfinished owners over a daemon's death. A terminal word found in the old slots counts: the
// daemon wrote it before it died. Everything else is repeated exactly as first merged, with what is
// left of its durations, or ends without being repeated. Under the short lock.
#include <algorithm>

#include "client/client_state.h"
#include "proto/check.h"

namespace tentq::lib {

// Takes the owner out of its old slot. *ended is what the slot says, if that is terminal.
// Partner: SlotTables::still. First the word, then the slot, both seq_cst: a reader that believes
// the old slot has done so before, and then its outcome is found here as well.
OwnerWord ClientState::unbind(Session& session, Owner& owner, OwnerView* ended) {
  const OwnerWord word = owner.load();
  if (!word.is_bound()) return word;
  owner.word.exchange(0, std::memory_order_seq_cst);
  const SlotWord now =
      SlotWord::unpack(session.slots()[word.slot()].word.load(std::memory_order_seq_cst));
  if (now.generation != word.generation() || !tentq::is_terminal(now.state)) return word;
  const shm::SlotView view = session.status().view(word.slot(), word.generation());
  *ended = {now.state,        now.reason,         view.bytes_done,
            view.enqueued_ns, view.dispatched_ns, view.completed_ns};
  return word;
}

void ClientState::unbind_all(Session& session) {
  for (const auto& batch : batches_.live()) {
    const std::uint32_t count = batch->owner_count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      Owner& owner = batch->owners[i];
      OwnerView ended;
      if (!unbind(session, owner, &ended).is_bound()) continue;
      if (tentq::is_terminal(ended.state)) {
        latch(owner, ended);
      } else if (owner.cancel_asked) {
        latch(owner, {.state = TaskState::canceled, .reason = Reason::canceled});
      }
    }
  }
  for (auto& [serial, sent] : outgoing_.unfinished()) {
    OwnerView ended;
    unbind(session, sent.place, &ended);
    sent.published = false;
    if (tentq::is_terminal(ended.state)) latch(sent.place, ended);
  }
  republish_ = true;
  recycle_settled();
}

// What must not be repeated, or is being canceled, ends as soon as the daemon's death is known.
void ClientState::end_unrepeatable() {
  for_each_unfinished([&](BatchState& batch, Owner& owner, std::uint32_t) {
    if (!batch.calls[owner.call].no_resubmit && !owner.cancel_asked) return;
    OwnerView ended;
    unbind(*session_, owner, &ended);
    if (!tentq::is_terminal(ended.state)) {
      ended = owner.cancel_asked
                  ? OwnerView{.state = TaskState::canceled, .reason = Reason::canceled}
                  : OwnerView{.state = TaskState::failed, .reason = Reason::daemon_gone};
    }
    latch(owner, ended);
  });
  recycle_settled();
}

bool ClientState::backlogged() const {
  return std::any_of(backlog_.begin(), backlog_.end(), [](const auto& b) { return !b.empty(); });
}

void ClientState::fill_backlog() {
  for (auto& backlog : backlog_) backlog.clear();
  for_each_unfinished([&](BatchState& batch, Owner& owner, std::uint32_t i) {
    TENTQ_CHECK(owner.load().is_unbound());
    // The quota may be another one now.
    Call& call = batch.calls[owner.call];
    call.cls = session_->class_for(call.asked);
    backlog_[index_of(call.cls)].push_back({&batch, i});
  });
  for (auto& backlog : backlog_) {
    std::sort(backlog.begin(), backlog.end(), [](const Unpublished& a, const Unpublished& b) {
      const std::uint64_t first = a.batch->calls[a.batch->owners[a.owner].call].serial;
      const std::uint64_t second = b.batch->calls[b.batch->owners[b.owner].call].serial;
      return first != second ? first < second : a.owner < b.owner;
    });
  }
}

void ClientState::publish_backlog() {
  if (!attached_) return;
  Session& session = *session_;
  bool ended = false;
  for (auto& backlog : backlog_) {
    while (!backlog.empty()) {
      const Unpublished& next = backlog.front();
      OwnerView outcome;
      if (!replay(session, *next.batch, next.owner, &outcome)) break;
      if (tentq::is_terminal(outcome.state)) {
        latch(next.batch->owners[next.owner], outcome);
        ended = true;
      }
      backlog.pop_front();
    }
  }
  if (ended) {
    recycle_settled();
    completion_fd_.raise();
  }
  if (republish_ && !backlogged()) republish_notifications(session);
}

// True when the owner is done with here: published again, already terminal, or *ended says how it
// ends instead. False: no room now.
bool ClientState::replay(Session& session, BatchState& batch, std::uint32_t index,
                         OwnerView* ended) {
  Owner& owner = batch.owners[index];
  if (!owner.load().is_unbound()) return true;
  const auto fail = [&](TaskState state, Reason reason) {
    *ended = {.state = state, .reason = reason};
    return true;
  };
  Call call = batch.calls[owner.call];
  if (owner.cancel_asked) return fail(TaskState::canceled, Reason::canceled);
  const RegionEntry* region = regions_.by_id(owner.region);
  if (region == nullptr || region->session_id == 0) {
    return fail(TaskState::failed, Reason::unknown_region);
  }
  const SegmentEntry* segment = segments_.by_id(owner.segment);
  if (segment == nullptr || segment->handle == 0) {
    return fail(TaskState::failed, Reason::stale_handle);
  }
  if (!session.granted(call.cls)) return fail(TaskState::failed, Reason::not_permitted);
  if (!shorten(&call.deadline_ns, call.submitted_ns)) {
    return fail(TaskState::timeout, Reason::deadline);
  }
  if (!shorten(&call.max_queue_wait_ns, call.submitted_ns)) {
    return fail(TaskState::timeout, Reason::max_queue_wait);
  }
  ClassRing& ring = session.ring(call.cls);
  const shm::CreditAmounts amounts{1, owner.length, 1};
  if (ring.ring.room(shm::RingUse::work) == 0 || session.allocator().free() == 0) {
    sweep();
    return false;
  }
  if (!ring.credit.spend(amounts)) {
    ring.credit.wish(amounts);
    session.doorbell().published();
    return false;
  }
  SlotRef ref{};
  TENTQ_CHECK(session.allocator().take(std::span(&ref, 1)));
  CellBody cell;
  fill_cell(owner, call, ref, &cell);
  cell.flags |= kCellReplayed;
  owner.store(OwnerWord::bound(session.ordinal, ref.slot, ref.generation));
  if (batch.retired) {
    session.orphans().note_baseline(session.status(), ref.slot);
    session.orphans().add(ref.slot, {&batch, index});
  }
  TENTQ_CHECK(ring.ring.publish(std::span(&cell, 1), shm::RingUse::work));
  session.doorbell().published();
  return true;
}

// What is left of a duration that began at `from_ns`; false when nothing is. 0 stays "none".
bool ClientState::shorten(std::uint64_t* duration_ns, std::int64_t from_ns) {
  if (*duration_ns == 0) return true;
  const auto passed = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns() - from_ns, 0));
  if (passed >= *duration_ns) return false;
  *duration_ns -= passed;
  return true;
}

}  // namespace tentq::lib
