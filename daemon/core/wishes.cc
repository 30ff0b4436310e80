// Who gets credit next: wishes in their order, what gathers for them, and whose unused credit is
// asked back.
#include <algorithm>

#include "daemon/core/credit.h"

namespace tentq::core {
namespace {

// While somebody waits: unused credit that could not be had the last time may be free now.
constexpr std::int64_t kAskAgainNs = 10'000'000;

std::uint32_t class_index(std::uint32_t index) {
  return index % kMaxClasses;
}
std::uint32_t session_index(std::uint32_t index) {
  return index / static_cast<std::uint32_t>(kMaxClasses);
}

}  // namespace

AdmissionCredit::List& AdmissionCredit::list_of(std::uint32_t index) {
  return credits_[index].wish_kind == WishKind::waiting ? waiting_[class_index(index)] : brief_;
}

void AdmissionCredit::enter_wish(std::uint32_t index, WishKind kind) {
  Credit& credit = credits_[index];
  credit.wish_kind = kind;
  List& list = list_of(index);
  credit.next = kNone;
  credit.prev = list.tail;
  (list.tail == kNone ? list.head : credits_[list.tail].next) = index;
  list.tail = index;
  if (kind == WishKind::waiting) waiting_count_ += 1;
}

void AdmissionCredit::leave_wish(std::uint32_t index) {
  Credit& credit = credits_[index];
  if (credit.wish_kind == WishKind::none) return;
  List& list = list_of(index);
  (credit.prev == kNone ? list.head : credits_[credit.prev].next) = credit.next;
  (credit.next == kNone ? list.tail : credits_[credit.next].prev) = credit.prev;
  if (credit.wish_kind == WishKind::waiting) waiting_count_ -= 1;
  credit.wish_kind = WishKind::none;
  credit.wish_asked = false;
  changed_ = true;
}

void AdmissionCredit::wanted(std::uint32_t session, std::uint32_t cls, const Amounts& wanted,
                             const Amounts& consumed, bool waiting) {
  if (!holders_[session].open || cls == index_of(ClassId::internal) ||
      (holders_[session].class_mask >> cls & 1u) == 0) {
    return;
  }
  const std::uint32_t index = session * static_cast<std::uint32_t>(kMaxClasses) + cls;
  Credit& credit = credits_[index];
  const WishKind kind = waiting ? WishKind::waiting : WishKind::brief;
  // A newer wish replaces the older one; who waited already keeps the place.
  if (credit.wish_kind != kind || is_zero(wanted)) leave_wish(index);
  if (is_zero(wanted)) return;
  const Amounts honoured = least(largest(consumed, credit.spent), credit.granted);
  credit.wish_base = honoured;
  credit.wish = plus_saturating(honoured, wanted);
  credit.wish_asked = false;
  if (credit.wish_kind == WishKind::none) enter_wish(index, kind);
  if (!can_ever_serve(index)) leave_wish(index);
  changed_ = true;
}

bool AdmissionCredit::can_ever_serve(std::uint32_t index) {
  const Amounts total = minus_saturating(credits_[index].wish, credits_[index].released);
  for (const Level* level : path(index)) {
    if (!fits(total, level->limit)) return false;
  }
  return true;
}

void AdmissionCredit::serve_wishes(std::int64_t now_ns, bool ask_again) {
  changed_ = false;
  if (waiting_count_ != 0 || !held_.empty() || brief_.head != kNone) {
    clear_holds();
    for (const std::uint32_t cls : classes_by_share()) serve_waiting(cls, ask_again);
    serve_brief();
  }
  if (waiting_count_ == 0) {
    ask_again_ns_ = 0;
  } else if (ask_again || ask_again_ns_ == 0) {
    ask_again_ns_ = now_ns + kAskAgainNs;
  }
  changed_ = false;
}

// The class whose part of the host, for its weight, is the smallest comes first: a class that lives
// on released credit alone can neither be starved by a more urgent one nor starve it.
std::array<std::uint32_t, kMaxClasses> AdmissionCredit::classes_by_share() const {
  const Amounts& host = accounts_->host().limit;
  const auto part = [](std::uint64_t of, std::uint64_t all) {
    return static_cast<double>(of) / static_cast<double>(std::max<std::uint64_t>(1, all));
  };
  std::array<double, kMaxClasses> shares{};
  std::array<std::uint32_t, kMaxClasses> order{};
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const Amounts& has = accounts_->of_class(c).committed;
    const double most = std::max({part(has.owners, host.owners), part(has.bytes, host.bytes),
                                  part(has.extents, host.extents)});
    shares[c] = most / std::max(1u, weights_[c]);
    order[c] = c;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&shares](std::uint32_t a, std::uint32_t b) { return shares[a] < shares[b]; });
  return order;
}

void AdmissionCredit::clear_holds() {
  for (Level* level : held_) {
    level->held = Amounts{};
    accounts_->update_short(*level);
  }
  held_.clear();
}

void AdmissionCredit::hold(const LevelPath& path, const Amounts& need) {
  for (Level* level : path) {
    if (is_zero(level->held)) held_.push_back(level);
    level->held = plus_saturating(level->held, need);
    accounts_->update_short(*level);
  }
}

// Grants the wish whole, and some more when nobody waits, so that the next calls need none.
bool AdmissionCredit::serve(std::uint32_t index) {
  Credit& credit = credits_[index];
  const Amounts need = minus_saturating(credit.wish, credit.granted);
  const LevelPath levels = path(index);
  const Amounts free = free_for(index, levels);
  if (!fits(need, free)) return false;
  leave_wish(index);
  Amounts extra;
  if (waiting_count_ == 0) {
    const Amounts twice = plus_saturating(need, need);
    extra = least(plus_saturating(twice, need), share(minus(free, need), 4));
  }
  grant(index, levels, plus_saturating(need, extra));
  return true;
}

void AdmissionCredit::serve_waiting(std::uint32_t cls, bool ask_again) {
  std::uint32_t index = waiting_[cls].head;
  while (index != kNone) {
    const std::uint32_t next = credits_[index].next;
    if (!can_ever_serve(index)) {
      leave_wish(index);
    } else if (!serve(index)) {
      const LevelPath levels = path(index);
      const Amounts need = minus_saturating(credits_[index].wish, credits_[index].granted);
      if (!credits_[index].wish_asked || (ask_again && index == waiting_[cls].head)) {
        credits_[index].wish_asked = true;
        ask_for(index, levels, need);
      }
      hold(levels, need);
    }
    index = next;
  }
}

void AdmissionCredit::serve_brief() {
  std::uint32_t index = brief_.head;
  while (index != kNone) {
    const std::uint32_t next = credits_[index].next;
    if (!serve(index)) {
      const LevelPath levels = path(index);
      const Amounts need = minus_saturating(credits_[index].wish, credits_[index].granted);
      if (!credits_[index].wish_asked) {
        credits_[index].wish_asked = true;
        ask_for(index, levels, need);
      }
      if (reclaims_open_ == 0) {
        // It goes without; what is released next is left free for the call that is tried again.
        for (Level* level : levels) {
          level->asked = largest(level->asked, minus_saturating(need, level->room_beside_holds()));
          accounts_->update_short(*level);
        }
        leave_wish(index);
      }
    }
    index = next;
  }
}

void AdmissionCredit::ask_for(std::uint32_t index, const LevelPath& path, const Amounts& need) {
  Missing missing;
  for (std::size_t l = 0; l < kLevels; ++l) {
    missing[l] = minus_saturating(need, path[l]->room_beside_holds());
  }
  ask_back(index, missing);
}

// Asks back at least half of the unused credit of those who stand in the way, one after the other,
// until what is missing is covered.
void AdmissionCredit::ask_back(std::uint32_t wisher, const Missing& missing) {
  Amounts left;
  for (const Amounts& each : missing) left = largest(left, each);
  const std::uint32_t count = static_cast<std::uint32_t>(credits_.size());
  for (std::uint32_t i = 0; i < count && !is_zero(left); ++i) {
    cursor_ = cursor_ + 1 < count ? cursor_ + 1 : 0;
    Credit& credit = credits_[cursor_];
    if (cursor_ == wisher || credit.reclaim_untold || credit.reclaim_open) continue;
    if (!holders_[session_index(cursor_)].open || !shares(cursor_, wisher, missing)) continue;
    const Amounts unused = credit.unused();
    const auto part = [](std::uint64_t has, std::uint64_t need) {
      return need == 0 ? 0 : std::min(has, std::max(need, has / 2));
    };
    const Amounts take{part(unused.owners, left.owners), part(unused.bytes, left.bytes),
                       part(unused.extents, left.extents)};
    if (is_zero(take)) continue;
    mark_reclaim(cursor_, take);
    left = minus_saturating(left, take);
  }
}

// Whether giving up credit at `index` frees something at a level where the wisher lacks it.
bool AdmissionCredit::shares(std::uint32_t index, std::uint32_t wisher,
                             const Missing& missing) const {
  if (!is_zero(missing[0])) return true;
  if (wisher == kNone) return false;
  const std::uint32_t session = session_index(index);
  const std::uint32_t other = session_index(wisher);
  return (!is_zero(missing[1]) && class_index(index) == class_index(wisher)) ||
         (!is_zero(missing[2]) && holders_[session].client == holders_[other].client) ||
         (!is_zero(missing[3]) && session == other);
}

void AdmissionCredit::limits_changed() {
  const auto over = [](const Level& level) {
    return minus_saturating(level.committed, level.limit);
  };
  Missing missing{};
  missing[0] = over(accounts_->host());
  ask_back(kNone, missing);
  for (std::uint32_t i = 0; i < credits_.size(); ++i) {
    if (!holders_[session_index(i)].open) continue;
    const LevelPath levels = path(i);
    Amounts most;
    for (const Level* level : levels) most = largest(most, over(*level));
    Credit& credit = credits_[i];
    const Amounts take = least(most, credit.unused());
    if (is_zero(take) || credit.reclaim_untold || credit.reclaim_open) continue;
    mark_reclaim(i, take);
  }
  changed_ = true;
}

}  // namespace tentq::core
