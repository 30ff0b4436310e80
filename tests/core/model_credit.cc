// What the model knows of the host that lanes 1 and 2 lead to: what it was asked, what it granted,
// and what went there for it, recomputed from the chunks.
#include <rapidcheck.h>

#include <algorithm>

#include "tests/core/model.h"

namespace tentq::core {
namespace {

constexpr ReceiverId kReceiver{0};
constexpr std::size_t kMostAsked = 6;

bool takes_credit(LaneId lane) {
  return lane == LaneId{1} || lane == LaneId{2};
}

CreditPool pool_of(ClassId cls) {
  return cls == ClassId::internal ? CreditPool::internal : CreditPool::user;
}

std::size_t index_of_pool(CreditPool pool) {
  return static_cast<std::size_t>(pool);
}

std::uint32_t life_of(const SendDemand& asked) {
  return static_cast<std::uint32_t>(asked.demand.nonce >> 32);
}

}  // namespace

void Model::answer(const SendDemand& asked, std::uint64_t limit) {
  std::uint64_t& highest = granted_[index_of_pool(asked.demand.pool)][life_of(asked)];
  highest = std::max(highest, limit);
  follow();
  world_.grant(asked, limit, (1 + limit % 8) * 16 * kKiB);
}

// Some demand, perhaps an old one, is answered; the limit may be lower than another one's.
void Model::grant(const Step& op) {
  if (asked_.empty()) return;
  const SendDemand asked = op.a % 3 == 0 ? asked_[op.b % asked_.size()] : asked_.back();
  answer(asked, asked.demand.sent + op.c % (256 * kKiB));
}

// Mostly the same epoch again, or a new one; now and then one that does not speak credits.
void Model::connect(const Step& op) {
  if (op.b % 4 == 0) receiver_epoch_ += 1;
  world_.connect(kReceiver.value(), receiver_epoch_, op.c % 4 != 0);
}

void Model::follow_demands() {
  for (const SendDemand& asked : world_.demands) {
    RC_ASSERT(asked.receiver == kReceiver);
    RC_ASSERT(asked.demand.freed <= asked.demand.sent);
    mix(asked.demand.nonce ^ asked.demand.sent << 20);
    asked_.push_back(asked);
    if (asked_.size() > kMostAsked) asked_.pop_front();
  }
}

void Model::note_credit(const DispatchChunk& chunk, const Owner& owner) {
  if (!takes_credit(chunk.lane)) return;
  const CreditPool pool = pool_of(owner.cls);
  const ReceiverTotals totals = world_.core.receiver_totals(kReceiver, pool);
  if (totals.state != CreditState::active) return;
  // No more went in a life than was granted in it.
  std::uint64_t& sent = sent_[index_of_pool(pool)][totals.life];
  // What is taken back is not seen here: no more than that was sent again.
  sent = std::min(sent + chunk.length, totals.sent);
  RC_ASSERT(sent != 0u && sent <= granted_[index_of_pool(pool)][totals.life]);
}

void Model::check_receivers() const {
  for (const CreditPool pool : {CreditPool::user, CreditPool::internal}) {
    std::uint64_t flying = 0;
    for (const auto& [id, owner] : owners_) {
      if (!takes_credit(owner.spec.lane) || pool_of(owner.cls) != pool) continue;
      for (const auto& [chunk, sent] : owner.flying) flying += sent.length;
    }
    const ReceiverTotals totals = world_.core.receiver_totals(kReceiver, pool);
    RC_LOG() << "pool " << index_of_pool(pool) << ": " << flying << " in flight, "
             << totals.in_flight() << " counted, room " << totals.room << "\n";
    RC_ASSERT(totals.in_flight() == flying);
    RC_ASSERT(totals.freed <= totals.sent && totals.sent <= totals.limit);
    const auto& granted = granted_[index_of_pool(pool)];
    const auto highest = granted.find(totals.life);
    RC_ASSERT(totals.limit <= (highest == granted.end() ? 0 : highest->second));
  }
  const ReceiverTotals other = world_.core.receiver_totals(ReceiverId{1}, CreditPool::user);
  RC_ASSERT(other.limit == 0u && other.in_flight() == 0u && other.wanted == 0u);
}

// For any chunk: one that is held for a longer one may wait.
bool Model::receiver_has_room(const Owner& owner) const {
  if (!takes_credit(owner.spec.lane)) return true;
  const ReceiverTotals totals = world_.core.receiver_totals(kReceiver, pool_of(owner.cls));
  return totals.room >= 16 * kKiB;
}

}  // namespace tentq::core
