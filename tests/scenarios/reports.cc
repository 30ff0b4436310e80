// What a scenario says about effects and totals.
#include <stdexcept>

#include "tests/scenarios/stage.h"

namespace tentq::scenarios {
namespace {

using namespace tentq::core;

std::string text_of(WaitCause cause) {
  switch (cause) {
    case WaitCause::none: return "nothing, it is in flight";
    case WaitCause::route: return "its route";
    case WaitCause::window: return "the window of its lane";
    case WaitCause::receiver: return "credit of its receiver";
    case WaitCause::class_cap: return "the cap of its class";
    case WaitCause::reserve: return "room that is not kept for other classes";
    case WaitCause::client_cap: return "the cap of its client";
    case WaitCause::order: return "those ahead of it";
    case WaitCause::session_order: return "other sessions of its client";
    case WaitCause::client_order: return "other clients";
    case WaitCause::aging: return "the next turn of old ones";
    case WaitCause::class_order: return "other classes";
    case WaitCause::backoff: return "the pause of its lane";
    case WaitCause::draining: return "its chunks in flight";
  }
  return "";
}

}  // namespace

void Stage::note(const Effect& effect) {
  if (const auto* admission = std::get_if<OwnerAdmitted>(&effect)) {
    const std::uint64_t key = std::uint64_t{admission->slot_generation} << 32 | admission->slot;
    owners_[admission->owner] = slots_.at({admission->session.value(), key});
    if (!quiet_) say("admitted " + owner_name(admission->owner));
  } else if (const auto* chunk = std::get_if<DispatchChunk>(&effect)) {
    served_[name_of(chunk->session)] += chunk->length;
    if (quiet_) return;
    say("dispatch " + owner_name(chunk->chunk.owner) + " " + bytes_text(chunk->length) + " at " +
        bytes_text(chunk->local_offset) +
        (chunk->lane.value() == 0 ? "" : " on lane " + std::to_string(chunk->lane.value())));
  } else if (const auto* end = std::get_if<OwnerEnded>(&effect)) {
    if (!quiet_ || end->state != TaskState::completed) note_end(*end);
  } else if (const auto* cancelled = std::get_if<CancelChunk>(&effect)) {
    say("cancel a chunk of " + owner_name(cancelled->chunk.owner));
  } else if (const auto* question = std::get_if<ResolveRoute>(&effect)) {
    say("which route for " + owner_name(question->owner) + "?");
  } else if (const auto* gone = std::get_if<SessionQuiet>(&effect)) {
    say("quiet " + name_of(gone->session));
  } else if (std::holds_alternative<Drained>(effect)) {
    say("drained");
  }
}

void Stage::note_end(const OwnerEnded& end) {
  const std::uint64_t key = std::uint64_t{end.slot_generation} << 32 | end.slot;
  const std::string& name = slots_.at({end.session.value(), key});
  if (!end.owner.valid()) {
    say("refused " + name + ": " + std::string(to_string(end.reason)) +
        (may_retry(end.reason) ? " (may be retried)" : ""));
    return;
  }
  const std::string reason =
      end.reason == Reason::none ? "" : " (" + std::string(to_string(end.reason)) + ")";
  say(std::string(to_string(end.state)) + " " + name + reason + ", " + bytes_text(end.bytes_done) +
      " moved");
}

std::uint32_t Stage::session(const std::string& name) const {
  const auto it = sessions_.find(name);
  if (it == sessions_.end()) throw std::runtime_error("no such session: " + name);
  return it->second;
}

const std::string& Stage::name_of(SessionId id) const {
  for (const auto& [name, index] : sessions_) {
    if (index == id.value()) return name;
  }
  throw std::runtime_error("a session without a name");
}

std::string Stage::owner_name(const OwnerId& id) const {
  const auto it = owners_.find(id);
  return it == owners_.end() ? "?" : it->second;
}

OwnerId Stage::owner(const std::string& name) const {
  for (const auto& [id, each] : owners_) {
    if (each == name) return id;
  }
  throw std::runtime_error("no such owner: " + name);
}

void Stage::show_queue() {
  std::uint64_t queued = 0;
  std::uint64_t flying = 0;
  std::uint64_t draining = 0;
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const ClassTotals totals = world().core.class_totals(static_cast<ClassId>(c));
    queued += totals.queued_owners;
    flying += totals.in_flight_owners;
    draining += totals.draining_owners;
  }
  const Amounts outstanding = world().core.outstanding();
  say("outstanding " + std::to_string(outstanding.owners) + ", " + bytes_text(outstanding.bytes) +
      ": " + std::to_string(queued) + " queued, " + std::to_string(flying) + " in flight, " +
      std::to_string(draining) + " of them draining");
}

void Stage::show_owner(const Command& command) {
  const auto explanation = world().core.explain(owner(command.words.at(0)));
  say(command.words[0] +
      (explanation ? " waits for " + text_of(explanation->cause) : " has ended"));
}

// Bytes handed over since the last time, by session.
void Stage::show_bytes() {
  for (const auto& [name, bytes] : served_) say(name + " was served " + bytes_text(bytes));
  served_.clear();
}

}  // namespace tentq::scenarios
