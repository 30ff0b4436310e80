// Batches from allocation to reuse. A slot is free again when its owner is terminal and its batch
// is freed; a batch is used again when all its owners are terminal. Under the short lock.
#include "client/client_state.h"
#include "proto/check.h"

namespace tentq::lib {

Result<BatchState*> ClientState::allocate_batch(std::uint32_t tasks) {
  if (Status status = usable(); !status.ok()) return status;
  constexpr std::uint32_t kMost = 1u << 20;
  if (tasks == 0 || tasks > kMost) {
    return Status(Code::invalid_argument, "a batch has 1 to " + std::to_string(kMost) + " tasks");
  }
  const Guard hold(lock_);
  return batches_.allocate(tasks);
}

void ClientState::free_batch(BatchState* batch) {
  if (!usable().ok()) return;  // what it holds goes with the client
  const Guard hold(lock_);
  TENTQ_CHECK(!batch->freed);
  batch->freed = true;
  if (batch->pins == 0) retire(*batch);
}

void ClientState::recycle(BatchState* batch) {
  for (auto& backlog : backlog_) {
    std::erase_if(backlog, [&](const Unpublished& item) { return item.batch == batch; });
  }
  batches_.recycle(batch);
}

void ClientState::retire(BatchState& batch) {
  batch.retired = true;
  Session& session = *session_;
  const std::uint32_t count = batch.owner_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const OwnerWord word = batch.owners[i].load();
    if (word.is_terminal()) continue;
    if (word.is_unbound()) {  // waits to be repeated
      ++batch.orphans;
      continue;
    }
    session.orphans().note_baseline(session.status(), word.slot());
    if (tentq::is_terminal(session.status().word(word.slot(), word.generation()).state)) {
      session.allocator().release(word.slot());
    } else {
      session.orphans().add(word.slot(), {&batch, i});
      ++batch.orphans;
    }
  }
  if (batch.orphans == 0) recycle(&batch);
}

void ClientState::sweep() {
  Session& session = *session_;
  session.orphans().sweep(session.status(),
                          [&](std::uint32_t slot, const OrphanTable::Orphan& orphan) {
                            Owner& owner = orphan.batch->owners[orphan.owner];
                            const OwnerView view = tables_.view(owner);
                            if (!tentq::is_terminal(view.state)) return false;
                            latch(owner, view);
                            session.allocator().release(slot);
                            TENTQ_CHECK(orphan.batch->orphans > 0);
                            if (--orphan.batch->orphans == 0) recycle(orphan.batch);
                            return true;
                          });
}

void ClientState::sweep_notifications() {
  for (auto it = outgoing_.unfinished().begin(); it != outgoing_.unfinished().end();) {
    const std::uint64_t serial = it->first;
    SentNotification& sent = it->second;
    ++it;
    const OwnerView view = tables_.view(sent.place);
    if (tentq::is_terminal(view.state)) finish_notification(serial, sent, view);
  }
}

void ClientState::finish_notification(std::uint64_t serial, SentNotification& sent,
                                      const OwnerView& outcome) {
  const OwnerWord word = sent.place.load();
  if (word.is_bound() && word.ordinal() == session_->ordinal) {
    session_->allocator().release(word.slot());
  }
  BatchState* const after = sent.after;
  outgoing_.finish(serial, outcome);
  if (after == nullptr) return;
  TENTQ_CHECK(after->pins > 0);
  if (--after->pins == 0 && after->freed) retire(*after);
}

// After owners were latched otherwise than by sweep().
void ClientState::recycle_settled() {
  std::vector<BatchState*> settled;
  for (const auto& batch : batches_.live()) {
    if (!batch->retired) continue;
    batch->orphans = 0;
    const std::uint32_t count = batch->owner_count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!batch->owners[i].load().is_terminal()) ++batch->orphans;
    }
    if (batch->orphans == 0) settled.push_back(batch.get());
  }
  for (BatchState* batch : settled) recycle(batch);
}

bool ClientState::region_in_use(std::uint32_t region) const {
  bool used = false;
  for_each_unfinished(
      [&](BatchState&, Owner& owner, std::uint32_t) { used = used || owner.region == region; });
  return used;
}

bool ClientState::segment_in_use(std::uint32_t segment) const {
  bool used = false;
  for_each_unfinished(
      [&](BatchState&, Owner& owner, std::uint32_t) { used = used || owner.segment == segment; });
  for (const auto& [serial, sent] : outgoing_.unfinished()) {
    used = used || sent.place.segment == segment;
  }
  return used;
}

void ClientState::purge() {
  std::shared_ptr<Session> session;
  std::vector<std::uint32_t> regions, handles;
  {
    const Guard hold(lock_);
    // Not while the next session is being prepared: it is told about entries that must stay.
    if (!attached_) return;
    session = session_;
    std::vector<std::uint32_t> gone;
    for (const auto& [id, entry] : regions_.all()) {
      if (entry->phase != RegionEntry::Phase::retiring || region_in_use(id)) continue;
      if (entry->session_id != 0) regions.push_back(entry->session_id);
      gone.push_back(id);
    }
    for (const std::uint32_t id : gone) regions_.remove(id);
    gone.clear();
    for (const auto& [id, entry] : segments_.all()) {
      if (!entry->closed || segment_in_use(id)) continue;
      if (entry->handle != 0) handles.push_back(entry->handle);
      gone.push_back(id);
    }
    for (const std::uint32_t id : gone) segments_.remove(id);
  }
  for (const std::uint32_t region : regions) {
    auto message = make_message<UnregisterRegion>();
    message.region = region;
    message.wait = 1;
    session->channel().post(message);
  }
  for (const std::uint32_t handle : handles) {
    auto message = make_message<CloseSegment>();
    message.segment = handle;
    session->channel().post(message);
  }
}

}  // namespace tentq::lib
