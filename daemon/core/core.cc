// The core's face: hands events to the state and answers questions about it.
#include "daemon/core/core.h"

#include <algorithm>
#include <stdexcept>

#include "daemon/core/bounds.h"
#include "daemon/core/state.h"

namespace tentq::core {

struct Core::Parts {
  State state;
  Parts(const Limits& limits, const HardMaxima& maxima, Policy policy, std::uint64_t seed,
        const CreditTerms& credits)
      : state(limits, maxima, policy, seed, credits) {}
};

Core::Core(const Limits& limits, const HardMaxima& maxima, Policy policy, std::uint64_t seed,
           const CreditTerms& credits) {
  const std::string text = contradiction(limits, maxima);
  if (!text.empty()) throw std::invalid_argument(text);
  if (const std::string why = contradiction(credits.rules); !why.empty()) {
    throw std::invalid_argument("credits." + why);
  }
  if (credits.receivers > kMaxLanes) {
    throw std::invalid_argument("credits.receivers must be at most " + std::to_string(kMaxLanes));
  }
  parts_ = std::make_unique<Parts>(limits, maxima, policy, seed, credits);
}
Core::~Core() = default;

template <class Kind>
void Core::handle_one(const Kind& event, Time now) {
  State& state = parts_->state;
  state.advance(now);
  state.on(event);
#ifdef TENTQ_CHECKS
  state.check_cheaply();
#endif
}

void Core::handle(const Event& event, Time now) {
  std::visit([this, now](const auto& each) { handle_one(each, now); }, event);
}
void Core::handle(const Submitted& event, Time now) {
  handle_one(event, now);
}
void Core::handle(const ChunkEnded& event, Time now) {
  handle_one(event, now);
}

std::optional<Effect> Core::next_urgent_effect() {
  return parts_->state.next_urgent_effect();
}

std::optional<OwnerAdmitted> Core::next_admission() {
  return parts_->state.next_admission();
}

std::optional<Effect> Core::next_effect() {
  return parts_->state.next_effect();
}
std::optional<Time> Core::next_deadline() const {
  return parts_->state.next_deadline();
}
void Core::check_invariants() const {
  parts_->state.check_invariants();
}

StatusCode Core::set_policy(Policy policy) {
  if (policy > Policy::wdrr) return StatusCode::invalid_argument;
  parts_->state.set_policy(policy);
  return StatusCode::ok;
}

StatusCode Core::set_limits(const Limits& limits, std::string* why) {
  std::string text = contradiction(limits, parts_->state.maxima);
  if (!text.empty()) {
    if (why != nullptr) *why = std::move(text);
    return StatusCode::invalid_argument;
  }
  parts_->state.apply_limits(limits);
  return StatusCode::ok;
}

Policy Core::policy() const {
  return parts_->state.policy();
}
const Limits& Core::limits() const {
  return parts_->state.limits;
}
bool Core::draining() const {
  return parts_->state.draining;
}
const Counters& Core::counters() const {
  return parts_->state.counters;
}
Amounts Core::outstanding() const {
  return parts_->state.outstanding();
}
std::uint64_t Core::state_hash() const {
  return parts_->state.state_hash();
}

ClassTotals Core::class_totals(ClassId cls) const {
  if (index_of(cls) >= kMaxClasses) return {};
  return parts_->state.class_totals(static_cast<std::uint32_t>(index_of(cls)));
}
LaneTotals Core::lane_totals(LaneId lane) const {
  if (lane.value() >= parts_->state.maxima.lanes) return {};
  return parts_->state.lane_totals(lane.value());
}
ReceiverTotals Core::receiver_totals(ReceiverId receiver, CreditPool pool) const {
  if (receiver.value() >= parts_->state.receiver_count()) return {};
  return parts_->state.receiver_totals(receiver.value(), pool);
}
SessionTotals Core::session_totals(SessionId session) const {
  if (session.value() >= parts_->state.maxima.sessions) return {};
  return parts_->state.session_totals(session.value());
}

LimitLevel Core::full_level(SessionId session, ClassId cls, const Amounts& wanted) const {
  return parts_->state.full_level(session, cls, wanted);
}

std::optional<OwnerView> Core::find_owner(OwnerId id) const {
  const std::uint32_t index = parts_->state.owners.find(id);
  if (index == kNone) return std::nullopt;
  return parts_->state.view(index);
}

std::optional<Explanation> Core::explain(OwnerId id) const {
  const std::uint32_t index = parts_->state.owners.find(id);
  if (index == kNone) return std::nullopt;
  return parts_->state.explain(index);
}

std::vector<OwnerView> Core::list_owners(const std::function<bool(const OwnerView&)>& filter,
                                         std::size_t most) const {
  const OwnerTable& owners = parts_->state.owners;
  const auto older = [](const OwnerView& a, const OwnerView& b) {
    return a.enqueued != b.enqueued ? a.enqueued < b.enqueued : a.id.number() < b.id.number();
  };
  // A heap of the oldest so far; its front is the youngest of them.
  std::vector<OwnerView> oldest;
  for (std::uint32_t i = 0; i < owners.high_water() && most != 0; ++i) {
    if (!is_live(owners[i].state)) continue;
    const OwnerView view = parts_->state.view(i);
    if (filter && !filter(view)) continue;
    if (oldest.size() == most) {
      if (!older(view, oldest.front())) continue;
      std::pop_heap(oldest.begin(), oldest.end(), older);
      oldest.pop_back();
    }
    oldest.push_back(view);
    std::push_heap(oldest.begin(), oldest.end(), older);
  }
  std::sort_heap(oldest.begin(), oldest.end(), older);
  return oldest;
}

}  // namespace tentq::core
