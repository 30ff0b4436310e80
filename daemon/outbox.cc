// Publishing to clients. See outbox.h.
#include "daemon/outbox.h"

#include "proto/check.h"

namespace tentq {

namespace {

SessionRing& ring_of(Session& session, ClassId cls) {
  for (SessionRing& ring : session.rings) {
    if (ring.cls == cls) return ring;
  }
  TENTQ_CHECK(false);
  return session.rings.front();
}

// Whether a is larger than b by more than `step` in any amount.
bool exceeds(const shm::CreditAmounts& a, const shm::CreditAmounts& b,
             const shm::CreditAmounts& step) {
  return a.owners > b.owners + step.owners || a.bytes > b.bytes + step.bytes ||
         a.extents > b.extents + step.extents;
}

shm::CreditAmounts quarter(const shm::CreditAmounts& of) {
  return {of.owners / 4, of.bytes / 4, of.extents / 4};
}

shm::CreditAmounts to_credit(const core::Amounts& amounts) {
  return {amounts.owners, amounts.bytes, amounts.extents};
}

}  // namespace

void Outbox::admitted(Session& session, const core::OwnerAdmitted& effect) {
  const SlotEntry& entry = session.slots[effect.slot];
  TENTQ_CHECK(entry.busy && entry.generation == effect.slot_generation);
  session.status.open(effect.slot, effect.slot_generation, effect.owner.number(),
                      to_ns(effect.enqueued));
}

void Outbox::ended(Session& session, std::uint32_t slot, std::uint32_t generation,
                   const shm::SlotView& view) {
  SlotEntry& entry = session.slots[slot];
  TENTQ_CHECK(entry.busy && entry.generation == generation);
  TENTQ_CHECK(is_terminal(view.word.state));
  entry.busy = false;
  entry.last = view.word.state;
  --session.slots_used;
  session.status.finish(slot, view);
  touch(session);
}

void Outbox::raise_credit(Session& session, const core::RaiseCredit& effect) {
  SessionRing& ring = ring_of(session, effect.cls);
  ring.credit_owed = to_credit(effect.granted);
  if (exceeds(ring.credit_owed, ring.credit_shown, ring.credit_step)) {
    const bool first = ring.credit_shown == shm::CreditAmounts{};
    show(session, ring);
    if (first) ring.credit_step = quarter(ring.credit_owed);
  } else if (!session.holding) {
    session.holding = true;
    holding_.push_back(&session);
  }
}

void Outbox::show(Session& session, SessionRing& ring) {
  if (ring.credit_shown == ring.credit_owed) return;
  ring.credit_shown = ring.credit_owed;
  ring.credit.set_granted(ring.credit_owed);
  touch(session);
}

void Outbox::show_credit(Session& session) {
  for (SessionRing& ring : session.rings) show(session, ring);
}

void Outbox::show_all_credit() {
  for (Session* session : holding_) {
    session->holding = false;
    show_credit(*session);
  }
  holding_.clear();
}

// Grants are scarce now: from here on nothing is held back.
core::CreditConsumed Outbox::reclaim_credit(Session& session, const core::ReclaimCredit& effect) {
  SessionRing& ring = ring_of(session, effect.cls);
  ring.credit_step = shm::CreditAmounts{};
  ring.credit_owed = ring.credit_shown = to_credit(effect.granted);
  ring.credit.set_granted(ring.credit_owed);
  const shm::CreditAmounts used = ring.credit.consumed();
  return {session.id, effect.cls, {used.owners, used.bytes, used.extents}};
}

void Outbox::touch(Session& session) {
  if (session.touched) return;
  session.touched = true;
  touched_.push_back(&session);
}

void Outbox::publish() {
  for (Session* session : touched_) {
    session->touched = false;
    session->notifier.notify();
  }
  touched_.clear();
}

void Outbox::forget(Session& session) {
  std::erase(touched_, &session);
  std::erase(holding_, &session);
}

}  // namespace tentq
