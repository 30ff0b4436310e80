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

shm::CreditAmounts to_credit(const core::Amounts& amounts) {
  return {amounts.owners, amounts.bytes, amounts.extents};
}

}  // namespace

void Outbox::admitted(Session& session, const core::OwnerAdmitted& effect) {
  SlotEntry& entry = session.slots[effect.slot];
  TENTQ_CHECK(entry.busy && entry.generation == effect.slot_generation);
  entry.owner = effect.owner;
  if (!entry.open_owed) {
    entry.open_owed = true;
    owed_.push_back({&session, effect.slot, effect.slot_generation});
  }
}

void Outbox::ended(Session& session, std::uint32_t slot, std::uint32_t generation,
                   const shm::SlotView& view) {
  SlotEntry& entry = session.slots[slot];
  TENTQ_CHECK(entry.busy && entry.generation == generation);
  TENTQ_CHECK(is_terminal(view.word.state));
  entry.busy = false;
  entry.open_owed = false;
  entry.last = view.word.state;
  --session.slots_used;
  session.status.finish(slot, view);
  touch(session);
}

void Outbox::raise_credit(Session& session, const core::RaiseCredit& effect) {
  ring_of(session, effect.cls).credit.set_granted(to_credit(effect.granted));
  touch(session);
}

core::CreditConsumed Outbox::reclaim_credit(Session& session, const core::ReclaimCredit& effect) {
  SessionRing& ring = ring_of(session, effect.cls);
  ring.credit.set_granted(to_credit(effect.granted));
  const shm::CreditAmounts used = ring.credit.consumed();
  return {session.id, effect.cls, {used.owners, used.bytes, used.extents}};
}

void Outbox::touch(Session& session) {
  if (session.touched) return;
  session.touched = true;
  touched_.push_back(&session);
}

void Outbox::publish() {
  for (const Owed& owed : owed_) {
    if (owed.session == nullptr) continue;
    SlotEntry& entry = owed.session->slots[owed.slot];
    if (!entry.open_owed || entry.generation != owed.generation) continue;
    entry.open_owed = false;
    owed.session->status.open(owed.slot, owed.generation, entry.owner.number(),
                              to_ns(entry.enqueued));
  }
  owed_.clear();
  for (Session* session : touched_) {
    session->touched = false;
    session->notifier.notify();
  }
  touched_.clear();
}

void Outbox::forget(Session& session) {
  std::erase(touched_, &session);
  for (Owed& owed : owed_) {
    if (owed.session == &session) owed.session = nullptr;
  }
}

}  // namespace tentq
