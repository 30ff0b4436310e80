// Tables and memory of one client of the fake daemon. See fake_session.h.
#include "tests/client/fake_session.h"

#include "proto/check.h"

namespace tentq::testing {

void FakeSession::set_up(const SessionSizes& sizes, const shm::CreditAmounts& initial) {
  TENTQ_CHECK(shm::create_session_memory(sizes, &memory) == 0);
  TENTQ_CHECK(shm::create_doorbell(&doorbell_fd) == 0);
  const shm::SessionView& view = memory.view;
  ReqHeader* req = view.req();
  StaHeader* sta = view.sta();
  sta->state.store(static_cast<std::uint32_t>(DaemonState::running));
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    if (((sizes.class_mask >> c) & 1) == 0) continue;
    const auto cls = static_cast<ClassId>(c);
    FakeRing& ring = rings.emplace_back();
    ring.cls = cls;
    ring.consumer = {view.ring(cls), sizes.ring_cells, &req->tails[c].value, &sta->heads[c].value};
    ring.credit = {&req->consumed[c], &sta->granted[c], &req->wanted[c]};
    const Outstanding& was = hello.outstanding[c];
    grant(ring, hello.reattach != 0 && was.owners > 0
                    ? shm::CreditAmounts{was.owners, was.bytes, was.extents}
                    : initial);
  }
  doorbell = {&req->published.value, &sta->need_wakeup.value};
  status = {view.slots(), view.dirty(), sizes.slots};
  generations.assign(sizes.slots, 0);
  last.assign(sizes.slots, TaskState::pending);
  group.resize(sizes.ring_cells);
}

FakeRing& FakeSession::ring(ClassId cls) {
  for (FakeRing& ring : rings) {
    if (ring.cls == cls) return ring;
  }
  TENTQ_CHECK(false);
  return rings.front();
}

void FakeSession::grant(FakeRing& ring, const shm::CreditAmounts& more) {
  ring.granted.owners += more.owners;
  ring.granted.bytes += more.bytes;
  ring.granted.extents += more.extents;
  ring.credit.set_granted(ring.granted);
  touched = true;
}

void FakeSession::finish(const FakeOwner& owner, TaskState state, Reason reason,
                         std::uint64_t bytes) {
  shm::SlotView view;
  view.word = {owner.cell.slot_generation, state, reason};
  view.bytes_done = bytes;
  view.enqueued_ns = 1;
  view.completed_ns = 2;
  last[owner.cell.slot] = state;
  status.finish(owner.cell.slot, view);
  if (owner.cell.kind == CellKind::transfer) grant(ring(owner.cls), {1, owner.cell.length, 1});
  touched = true;
}

std::byte* FakeSession::at_offset(std::uint64_t offset, std::uint64_t length) {
  for (auto& [id, region] : regions) {
    const std::uint64_t inside = offset - region.message.base;
    if (inside < region.message.size && length <= region.message.size - inside) {
      return region.mapping.data() + inside;
    }
  }
  return nullptr;
}

std::byte* FakeSession::at_region(std::uint32_t region, std::uint64_t offset,
                                  std::uint64_t length) {
  const auto it = regions.find(region);
  if (it == regions.end()) return nullptr;
  const std::uint64_t size = it->second.message.size;
  if (offset > size || length > size - offset) return nullptr;
  return it->second.mapping.data() + offset;
}

}  // namespace tentq::testing
