// Grants, spending, releases, and what the shell is told about them.
#include "daemon/core/credit.h"

#include <bit>

namespace tentq::core {
namespace {

SessionId session_of(std::uint32_t index) {
  return SessionId{index / static_cast<std::uint32_t>(kMaxClasses)};
}
ClassId class_of(std::uint32_t index) {
  return static_cast<ClassId>(index % kMaxClasses);
}

}  // namespace

AdmissionCredit::AdmissionCredit(std::uint32_t sessions, Accounts* accounts)
    : accounts_(accounts),
      credits_(std::size_t{sessions} * kMaxClasses),
      holders_(sessions),
      raises_(sessions * static_cast<std::uint32_t>(kMaxClasses)),
      reclaims_(sessions * static_cast<std::uint32_t>(kMaxClasses)) {
  held_.reserve(kLevels * credits_.size());
}

void AdmissionCredit::set_weights(const Limits& limits) {
  for (std::size_t c = 0; c < kMaxClasses; ++c) weights_[c] = limits.classes[c].weight;
}

LevelPath AdmissionCredit::path(std::uint32_t index) {
  const std::uint32_t session = index / static_cast<std::uint32_t>(kMaxClasses);
  return accounts_->path(session, holders_[session].client, index % kMaxClasses);
}

// What may be granted without overtaking anybody.
Amounts AdmissionCredit::free_for(std::uint32_t index, const LevelPath& path) const {
  Amounts free = minus({kMost, kMost, kMost}, credits_[index].granted);
  for (const Level* level : path) free = least(free, level->room_beside_holds());
  return free;
}

void AdmissionCredit::grant(std::uint32_t index, const LevelPath& path, const Amounts& amounts) {
  if (is_zero(amounts)) return;
  charge(credits_[index].granted, amounts);
  if (credits_[index].reclaim_open) charge(credits_[index].reclaim, amounts);
  for (Level* level : path) {
    charge(level->committed, amounts);
    level->asked = minus_saturating(level->asked, amounts);
    accounts_->update_short(*level);
  }
  mark_raise(index);
}

void AdmissionCredit::withdraw(const LevelPath& path, const Amounts& amounts) {
  for (Level* level : path) {
    core::release(level->committed, amounts);
    accounts_->update_short(*level);
  }
  changed_ = true;
}

void AdmissionCredit::mark_raise(std::uint32_t index) {
  Credit& credit = credits_[index];
  credit.raise_untold = true;
  if (credit.in_raises) return;
  credit.in_raises = true;
  raises_.push(index);
}

void AdmissionCredit::mark_reclaim(std::uint32_t index, const Amounts& amounts) {
  Credit& credit = credits_[index];
  credit.reclaim = amounts;
  credit.reclaim_untold = true;
  reclaims_open_ += 1;
  if (credit.in_reclaims) return;
  credit.in_reclaims = true;
  reclaims_.push(index);
}

void AdmissionCredit::open(std::uint32_t session, std::uint32_t client, std::uint32_t class_mask,
                           const Amounts (&replayed)[kMaxClasses]) {
  holders_[session] = {true, client, class_mask};
  const std::uint32_t first = session * static_cast<std::uint32_t>(kMaxClasses);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    Credit fresh;
    fresh.in_raises = credits_[first + c].in_raises;
    fresh.in_reclaims = credits_[first + c].in_reclaims;
    credits_[first + c] = fresh;
  }
  const auto granted_class = [class_mask](std::uint32_t c) {
    return c != index_of(ClassId::internal) && (class_mask >> c & 1u) != 0;
  };
  bool all_replayed = true;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    if (!granted_class(c)) continue;
    credits_[first + c].replay_left = replayed[c];
    grant(first + c, path(first + c), least(replayed[c], free_for(first + c, path(first + c))));
    // Others came back first and have what was its: it waits for the rest as if it had asked.
    if (fits(replayed[c], credits_[first + c].granted)) continue;
    all_replayed = false;
    wanted(session, c, replayed[c], {}, true);
  }
  if (!all_replayed) return;
  // Half of what the host and the client have left, so that there is something for the next one.
  const Amounts most = least(share(accounts_->host().room_beside_holds(), 2),
                             least(share(accounts_->of_client(client).room_beside_holds(), 2),
                                   accounts_->of_session(session).room_beside_holds()));
  const std::uint32_t classes =
      static_cast<std::uint32_t>(std::popcount(class_mask & ~bit_of(ClassId::internal)));
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    if (!granted_class(c)) continue;
    const LevelPath levels = path(first + c);
    grant(first + c, levels, least(share(most, classes), free_for(first + c, levels)));
  }
}

void AdmissionCredit::close(std::uint32_t session) {
  const std::uint32_t first = session * static_cast<std::uint32_t>(kMaxClasses);
  for (std::uint32_t i = first; i < first + kMaxClasses; ++i) {
    Credit& credit = credits_[i];
    leave_wish(i);
    if (credit.reclaim_untold || credit.reclaim_open) reclaims_open_ -= 1;
    credit.reclaim_untold = credit.reclaim_open = credit.raise_untold = false;
    withdraw(path(i), credit.unused());
    credit.granted = credit.spent;
  }
  holders_[session].open = false;
}

void AdmissionCredit::spend(std::uint32_t session, std::uint32_t cls, const Amounts& amounts) {
  Credit& credit = at(session, cls);
  TENTQ_CHECK(fits(amounts, credit.unused()));
  charge(credit.spent, amounts);
}

void AdmissionCredit::return_refused(std::uint32_t session, std::uint32_t cls,
                                     const Amounts& amounts) {
  Credit& credit = at(session, cls);
  const bool countable = fits(amounts, minus({kMost, kMost, kMost}, credit.granted));
  if (!fits(amounts, credit.unused()) || !countable) return;
  // What it consumes after its wish, for nothing, is no part of what it wished for.
  const Amounts counted = largest(credit.wish_base, credit.spent);
  charge(credit.spent, amounts);
  credit.wish = plus_saturating(credit.wish, minus_saturating(credit.spent, counted));
  charge(credit.released, amounts);
  charge(credit.granted, amounts);
  if (credit.reclaim_open) charge(credit.reclaim, amounts);
  mark_raise(session * static_cast<std::uint32_t>(kMaxClasses) + cls);
}

void AdmissionCredit::release(std::uint32_t session, std::uint32_t cls, const Amounts& amounts) {
  const std::uint32_t index = session * static_cast<std::uint32_t>(kMaxClasses) + cls;
  Credit& credit = credits_[index];
  charge(credit.released, amounts);
  if (cls == index_of(ClassId::internal)) return;
  const bool countable = fits(amounts, minus({kMost, kMost, kMost}, credit.granted));
  const bool others_lack = !accounts_->none_short() && is_short(index);
  if (!holders_[session].open || others_lack || !countable) {
    keep(index, amounts);
    return;
  }
  charge(credit.granted, amounts);
  if (credit.reclaim_open) charge(credit.reclaim, amounts);
  mark_raise(index);
}

bool AdmissionCredit::is_short(std::uint32_t index) {
  for (const Level* level : path(index)) {
    if (level->is_short) return true;
  }
  return false;
}

// Released credit that is not granted again: it is there for those who lack it.
void AdmissionCredit::keep(std::uint32_t index, const Amounts& amounts) {
  const LevelPath levels = path(index);
  for (Level* level : levels) level->asked = minus_saturating(level->asked, amounts);
  withdraw(levels, amounts);
}

void AdmissionCredit::charge_internal(std::uint32_t session, const Amounts& amounts) {
  Credit& credit = at(session, index_of(ClassId::internal));
  charge(credit.granted, amounts);
  charge(credit.spent, amounts);
}

Amounts AdmissionCredit::outstanding_of(std::uint32_t session) const {
  Amounts sum;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    charge(sum, minus(of(session, c).spent, of(session, c).released));
  }
  return sum;
}

Amounts AdmissionCredit::outstanding_at(std::size_t level, std::uint32_t session,
                                        std::uint32_t cls) const {
  Amounts sum;
  for (std::uint32_t s = 0; s < holders_.size(); ++s) {
    if (level == 2 && holders_[s].client != holders_[session].client) continue;
    if (level == 3 && s != session) continue;
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      if ((level == 1 && c != cls) || c == index_of(ClassId::internal)) continue;
      charge(sum, minus(of(s, c).spent, of(s, c).released));
    }
  }
  return sum;
}

bool AdmissionCredit::spend_replay(std::uint32_t session, std::uint32_t cls,
                                   const Amounts& amounts) {
  Credit& credit = at(session, cls);
  if (!fits(amounts, credit.replay_left)) return false;
  core::release(credit.replay_left, amounts);
  return true;
}

// The client consumed at least what it submitted, and never more than it was granted: whatever else
// it writes is taken for the nearer of the two. What it consumed before it could see the lower
// grants is honoured.
void AdmissionCredit::consumed(std::uint32_t session, std::uint32_t cls, const Amounts& consumed) {
  const std::uint32_t index = session * static_cast<std::uint32_t>(kMaxClasses) + cls;
  Credit& credit = credits_[index];
  if (!credit.reclaim_open) return;
  credit.reclaim_open = false;
  reclaims_open_ -= 1;
  const Amounts honoured = least(largest(consumed, credit.spent), credit.granted);
  const Amounts kept = largest(honoured, credit.reclaim);
  withdraw(path(index), minus(credit.granted, kept));
  credit.granted = kept;
  if (credit.granted != credit.posted) mark_raise(index);
  changed_ = true;
}

// What is no longer to be told leaves its ring.
bool AdmissionCredit::has_reclaim() {
  while (!reclaims_.empty()) {
    Credit& credit = credits_[reclaims_.front()];
    if (credit.reclaim_untold) return true;
    credit.in_reclaims = false;
    reclaims_.pop();
  }
  return false;
}

bool AdmissionCredit::has_raise() {
  while (!raises_.empty()) {
    Credit& credit = credits_[raises_.front()];
    // An open reclaim ends with an answer, which tells anew.
    if (credit.raise_untold && !credit.reclaim_open && credit.granted != credit.posted) return true;
    credit.in_raises = false;
    raises_.pop();
  }
  return false;
}

std::optional<Effect> AdmissionCredit::take_reclaim() {
  const std::uint32_t index = reclaims_.front();
  reclaims_.pop();
  Credit& credit = credits_[index];
  credit.in_reclaims = false;
  // What was submitted since it was decided has become charges; the rest is asked back.
  credit.reclaim = largest(credit.spent, minus_saturating(credit.granted, credit.reclaim));
  credit.reclaim_untold = false;
  credit.reclaim_open = true;
  credit.posted = credit.reclaim;
  return ReclaimCredit{session_of(index), class_of(index), credit.reclaim};
}

std::optional<Effect> AdmissionCredit::take_raise() {
  const std::uint32_t index = raises_.front();
  raises_.pop();
  Credit& credit = credits_[index];
  credit.in_raises = false;
  credit.raise_untold = false;
  credit.posted = credit.granted;
  std::optional<Effect> effect;
  RaiseCredit& raise = make_effect<RaiseCredit>(effect);
  raise.session = session_of(index);
  raise.cls = class_of(index);
  raise.granted = credit.granted;
  return effect;
}

void AdmissionCredit::check() const {
  std::uint32_t open_reclaims = 0;
  std::uint32_t waiting = 0;
  for (std::size_t i = 0; i < credits_.size(); ++i) {
    const Credit& credit = credits_[i];
    TENTQ_CHECK(fits(credit.released, credit.spent) && fits(credit.spent, credit.granted));
    TENTQ_CHECK(!(credit.reclaim_untold && credit.reclaim_open));
    TENTQ_CHECK(!credit.reclaim_untold || credit.in_reclaims);
    open_reclaims += credit.reclaim_untold || credit.reclaim_open ? 1 : 0;
    waiting += credit.wish_kind == WishKind::waiting ? 1 : 0;
  }
  TENTQ_CHECK(open_reclaims == reclaims_open_ && waiting == waiting_count_);
}

}  // namespace tentq::core
