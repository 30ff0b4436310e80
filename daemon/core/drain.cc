// Taking no new work, ending what is queued, and the owners of sessions that are gone.
#include "daemon/core/state.h"

namespace tentq::core {
namespace {

// Slots looked at in one go: about half a millisecond.
constexpr std::uint32_t kMostSlots = 8192;

}  // namespace

void State::on(const DrainRequested&) {
  draining = true;
  drained_owed_ = true;
}

void State::on(const ResumeRequested&) {
  draining = shutting_down_ = drained_owed_ = false;
}

void State::on(const ShutdownRequested&) {
  draining = shutting_down_ = drained_owed_ = true;
  for (std::uint32_t s = 0; s < sessions_.count(); ++s) {
    if (sessions_[s].open && sessions_[s].purge == Reason::none) {
      sessions_.start_purge(s, Reason::shutdown);
    }
  }
  more_to_do_ = purge_some() || more_to_do_;
}

// Ends owners of the sessions that are purged, slot by slot. Returns whether something is left.
bool State::purge_some() {
  std::uint32_t budget = kMostSlots;
  for (std::uint32_t s = 0; s < sessions_.count() && sessions_.purging() != 0; ++s) {
    Session& session = sessions_[s];
    if (session.purge == Reason::none) continue;
    while (session.purge_slot < session.slots) {
      if (session.owners.live() == session.owners.in(OwnerState::draining)) break;
      if (budget-- == 0) return true;
      const std::uint32_t index = owners.find_slot(s, session.purge_slot++);
      if (index != kNone) end_early(index, TaskState::canceled, session.purge);
    }
    sessions_.end_purge(s);
    sessions_.retire_if_quiet(s);
  }
  return false;
}

}  // namespace tentq::core
