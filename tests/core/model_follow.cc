// The model follows the core's effects, and compares what it then knows with the core's totals.
#include <rapidcheck.h>

#include <algorithm>

#include "tests/core/model.h"

namespace tentq::core {
namespace {

Amounts& add(Amounts& sum, const Amounts& more) {
  sum.owners += more.owners;
  sum.bytes += more.bytes;
  sum.extents += more.extents;
  return sum;
}

bool within(const Amounts& a, const Amounts& b) {
  return a.owners <= b.owners && a.bytes <= b.bytes && a.extents <= b.extents;
}

std::uint64_t bytes_of(const std::map<std::uint64_t, std::uint64_t>& ranges) {
  std::uint64_t sum = 0;
  for (const auto& [offset, length] : ranges) sum += length;
  return sum;
}

}  // namespace

void Model::follow() {
  for (const OwnerAdmitted& admission : world_.admitted) {
    const auto pending = pending_.extract({admission.session.value(), admission.slot});
    RC_ASSERT(!pending.empty());
    RC_ASSERT(admission.owner.index < 64u + 64u / 16 + 1024u);  // memory is bounded
    Owner owner;
    owner.spec = pending.mapped().first;
    owner.cls = pending.mapped().second;
    owner.session = admission.session.value();
    owner.routed = owner.spec.lane.valid();
    owner.order = order_++;
    if (owner.spec.deadline.count() != 0) {
      const Time due = admission.enqueued + owner.spec.deadline;
      owner.due_bucket = static_cast<std::uint64_t>(to_ns(due)) >> 18;
    }
    owner.todo[0] = owner.spec.length;
    RC_ASSERT(!ended_.contains(admission.owner));
    RC_ASSERT(owners_.emplace(admission.owner, owner).second);
    mix(admission.owner.number());
  }
  for (const ResolveRoute& question : world_.routes) unrouted_.push_back(question.owner);
  follow_ends();
  follow_dispatches();
  follow_demands();
  world_.forget();
  check_totals();
  check_lanes();
  check_receivers();
  check_clients();
  check_credit();
}

void Model::follow_ends() {
  for (const OwnerEnded& end : world_.ended) {
    told_ += 1;
    mix(static_cast<std::uint64_t>(end.state) << 32 | end.slot);
    if (!end.owner.valid()) {
      refused_ += 1;
      RC_ASSERT(pending_.erase({end.session.value(), end.slot}) == 1u);
      RC_ASSERT(end.state == TaskState::failed);
      continue;
    }
    const auto it = owners_.find(end.owner);
    RC_ASSERT(it != owners_.end());
    RC_ASSERT(it->second.flying.empty());  // quiet
    if (end.state == TaskState::completed) {
      RC_ASSERT(it->second.todo.empty());
      RC_ASSERT(end.bytes_done == it->second.spec.length);
    }
    RC_ASSERT(end.slot_generation == it->second.spec.slot_generation);
    ended_.insert(end.owner);
    owners_.erase(it);
  }
}

void Model::follow_dispatches() {
  for (const DispatchChunk& chunk : world_.dispatched) {
    mix(chunk.chunk.owner.number() ^ chunk.local_offset << 7);
    const auto it = owners_.find(chunk.chunk.owner);
    RC_ASSERT(it != owners_.end());
    Owner& owner = it->second;
    RC_ASSERT(owner.routed && owner.spec.lane == chunk.lane);
    RC_ASSERT(!lanes_.at(chunk.lane.value()).away);
    check_order(owner);
    check_urgency(owner);
    // The chunk is the beginning of something that was not handed over.
    const auto range = owner.todo.find(chunk.local_offset);
    RC_ASSERT(range != owner.todo.end());
    RC_ASSERT(chunk.length != 0u && chunk.length <= range->second);
    const std::uint64_t rest = range->second - chunk.length;
    owner.todo.erase(range);
    if (rest != 0) owner.todo[chunk.local_offset + chunk.length] = rest;
    owner.flying[chunk.chunk] = chunk;
    note_credit(chunk, owner);
  }
}

// Within (class, session, lane) by bucket of deadline, whoever has none last, and first in, first
// out in a bucket; under `fifo` first in, first out within the lane of all users.
void Model::check_order(const Owner& owner) const {
  const bool fifo = world_.core.policy() == Policy::fifo && owner.cls != ClassId::internal;
  const bool dated = world_.core.policy() == Policy::strict || world_.core.policy() == Policy::wdrr;
  for (const auto& [id, other] : owners_) {
    if (!other.routed || other.todo.empty() || other.spec.lane != owner.spec.lane) continue;
    const std::optional<OwnerView> view = world_.core.find_owner(id);
    RC_ASSERT(view.has_value());
    if (view->state == OwnerState::draining) continue;
    const bool same_leaf = other.cls == owner.cls && other.session == owner.session;
    const bool same_queue = fifo ? other.cls != ClassId::internal : same_leaf;
    if (!same_queue) continue;
    const std::uint64_t others = dated ? other.due_bucket : 0;
    const std::uint64_t own = dated ? owner.due_bucket : 0;
    RC_ASSERT(others > own || (others == own && other.order >= owner.order));
  }
}

void Model::check_totals() const {
  Amounts all;
  std::map<std::uint32_t, Amounts> sessions;
  std::map<ClassId, std::uint64_t> live;
  for (const auto& [id, owner] : owners_) {
    const Amounts amounts{1, owner.spec.length, owner.spec.extents};
    add(all, amounts);
    add(sessions[owner.session], amounts);
    live[owner.cls] += 1;
    const std::optional<OwnerView> view = world_.core.find_owner(id);
    RC_ASSERT(view.has_value());
    RC_ASSERT(view->chunks_in_flight == owner.flying.size());
    if (view->state != OwnerState::draining) {
      RC_ASSERT(view->length - view->dispatched_bytes == bytes_of(owner.todo));
    }
  }
  RC_ASSERT(world_.core.outstanding() == all);
  for (const auto& [session, amounts] : sessions) {
    RC_ASSERT(world_.core.session_totals(SessionId{session}).outstanding == amounts);
  }
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const ClassTotals totals = world_.core.class_totals(static_cast<ClassId>(c));
    const auto it = live.find(static_cast<ClassId>(c));
    RC_ASSERT(totals.queued_owners + totals.in_flight_owners ==
              (it == live.end() ? 0 : it->second));
  }
}

// Field by field: its own limit, or that of all clients.
Amounts Model::limit_of(std::uint32_t client) const {
  const Amounts& all = world_.core.limits().client;
  const auto it = client_limits_.find(client);
  if (it == client_limits_.end()) return all;
  const auto pick = [](std::uint64_t own, std::uint64_t of_all) {
    return own == kAsAllClients ? of_all : own;
  };
  return {pick(it->second.owners, all.owners), pick(it->second.bytes, all.bytes),
          pick(it->second.extents, all.extents)};
}

Amounts Model::outstanding_of(std::uint32_t client) const {
  Amounts sum;
  for (const auto& [id, owner] : owners_) {
    if (owner.cls == ClassId::internal || client_of(owner.session) != client) continue;
    add(sum, {1, owner.spec.length, owner.spec.extents});
  }
  return sum;
}

// What it has outstanding, and what its sessions may submit without asking.
Amounts Model::promised_to(std::uint32_t client) const {
  Amounts sum = outstanding_of(client);
  for (const auto& [key, granted] : world_.granted) {
    if (client_of(key.first) != client || key.second == 0) continue;
    const Amounts& used = world_.consumed.at(key);
    add(sum, {granted.owners > used.owners ? granted.owners - used.owners : 0,
              granted.bytes > used.bytes ? granted.bytes - used.bytes : 0,
              granted.extents > used.extents ? granted.extents - used.extents : 0});
  }
  return sum;
}

void Model::limit_client(std::uint32_t client, const Amounts& own) {
  promised_over_[client] = promised_to(client);
  client_limits_[client] = own;
}

// What clients may still submit and what they have outstanding is within every limit together.
void Model::check_credit() const {
  const Limits& limits = world_.core.limits();
  Amounts host;
  std::map<std::size_t, Amounts> classes;
  for (const auto& [key, granted] : world_.granted) {
    const Amounts& used = world_.consumed.at(key);
    const Amounts open{granted.owners > used.owners ? granted.owners - used.owners : 0,
                       granted.bytes > used.bytes ? granted.bytes - used.bytes : 0,
                       granted.extents > used.extents ? granted.extents - used.extents : 0};
    add(host, open);
    add(classes[key.second], open);
  }
  for (const auto& [id, owner] : owners_) {
    if (owner.cls == ClassId::internal) continue;
    const Amounts amounts{1, owner.spec.length, owner.spec.extents};
    add(host, amounts);
    add(classes[index_of(owner.cls)], amounts);
  }
  const Amounts users{limits.host.owners - limits.internal_reserve.owners,
                      limits.host.bytes - limits.internal_reserve.bytes,
                      limits.host.extents - limits.internal_reserve.extents};
  RC_LOG() << "promised to users: " << host.owners << " " << host.bytes << " " << host.extents
           << "\n";
  RC_ASSERT(within(host, users));
  for (std::uint32_t client = 0; client < 3; ++client) {
    const Amounts limit = limit_of(client);
    const auto it = promised_over_.find(client);
    const Amounts over = it == promised_over_.end() ? Amounts{} : it->second;
    RC_ASSERT(within(promised_to(client),
                     {std::max(limit.owners, over.owners), std::max(limit.bytes, over.bytes),
                      std::max(limit.extents, over.extents)}));
  }
  for (const auto& [cls, amounts] : classes) {
    RC_ASSERT(within(amounts, limits.classes[cls].outstanding));
  }
}

}  // namespace tentq::core
