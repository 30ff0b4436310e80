// Admission credit: what every session may submit in every class without asking. Grants are
// cumulative and exact: at each level the sum of what is granted and not released stays at or below
// the limit, so that a call within its credit is always within the limits. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/core/accounts.h"
#include "daemon/core/effect.h"
#include "daemon/core/rings.h"

namespace tentq::core {

// What a refused call stated that it needs. A waiting one is kept and served in turn; freed credit
// gathers for it. A brief one takes what is free now or comes back at once.
enum class WishKind : std::uint8_t { none, waiting, brief };

// One session's credit in one class. All amounts are cumulative since the session began.
struct Credit {
  Amounts granted;
  Amounts posted;       // what the shell stored last, or was told to
  Amounts spent;        // of owners that were submitted
  Amounts released;     // of owners that have ended
  Amounts replay_left;  // not cumulative: owners that may still be repeated after a re-attach
  Amounts wish;         // grants that its wish needs
  Amounts wish_base;    // what it had consumed when it wished
  Amounts reclaim;      // told: the lower grants; not told: by how much to lower
  std::uint32_t next = kNone;  // in the list of wishes
  std::uint32_t prev = kNone;
  WishKind wish_kind = WishKind::none;
  bool wish_asked = false;  // unused credit of others was asked back for it
  bool reclaim_untold = false;
  bool reclaim_open = false;  // told, not answered
  bool raise_untold = false;
  bool in_reclaims = false;  // its place in the ring of what is to be told; it has one at most
  bool in_raises = false;

  Amounts unused() const { return minus(granted, spent); }
};

class AdmissionCredit {
 public:
  AdmissionCredit(std::uint32_t sessions, Accounts* accounts);
  void set_weights(const Limits& limits);

  // Grants what was outstanding before a re-attach, then a share of what is free.
  void open(std::uint32_t session, std::uint32_t client, std::uint32_t class_mask,
            const Amounts (&replayed)[kMaxClasses]);
  // Takes back what is unused, and forgets the session's wishes.
  void close(std::uint32_t session);

  // Internal work needs no credit: it is only counted.
  void charge_internal(std::uint32_t session, const Amounts& amounts);
  bool covers(std::uint32_t session, std::uint32_t cls, const Amounts& amounts) const {
    return fits(amounts, of(session, cls).unused());
  }
  void spend(std::uint32_t session, std::uint32_t cls, const Amounts& amounts);
  // A refused call: what it consumed is granted again at once. Changes nothing that decides.
  void return_refused(std::uint32_t session, std::uint32_t cls, const Amounts& amounts);
  // Owners ended: their credit is granted again, or kept for those who wait for it.
  void release(std::uint32_t session, std::uint32_t cls, const Amounts& amounts);
  bool spend_replay(std::uint32_t session, std::uint32_t cls, const Amounts& amounts);

  // `consumed` is what the client wrote: any value is possible and none is harmful.
  void wanted(std::uint32_t session, std::uint32_t cls, const Amounts& wanted,
              const Amounts& consumed, bool waiting);
  void consumed(std::uint32_t session, std::uint32_t cls, const Amounts& consumed);
  void limits_changed();

  // Serves wishes as far as there is something to give.
  void rebalance(std::int64_t now_ns) {
    const bool ask_again = waiting_count_ != 0 && ask_again_ns_ != 0 && now_ns >= ask_again_ns_;
    if (changed_ || ask_again) serve_wishes(now_ns, ask_again);
  }
  // While somebody waits, unused credit is asked back again at this time; 0 = nobody waits.
  std::int64_t next_ns() const { return waiting_count_ == 0 ? 0 : ask_again_ns_; }
  bool has_reclaim();
  std::optional<Effect> take_reclaim();  // there is one
  bool has_raise();
  std::optional<Effect> take_raise();  // there is one

  // Charged to owners that have not ended: of a session, and of all that share a level (0 host,
  // 1 class, 2 client, 3 session) with a session's class. O(sessions) for the latter.
  Amounts outstanding_of(std::uint32_t session) const;
  Amounts outstanding_at(std::size_t level, std::uint32_t session, std::uint32_t cls) const;

  const Credit& of(std::uint32_t session, std::uint32_t cls) const {
    return credits_[session * kMaxClasses + cls];
  }
  void check() const;

 private:
  struct Holder {
    bool open = false;
    std::uint32_t client = 0;
    std::uint32_t class_mask = 0;
  };
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  using Missing = std::array<Amounts, kLevels>;

  Credit& at(std::uint32_t session, std::uint32_t cls) {
    return credits_[session * kMaxClasses + cls];
  }
  LevelPath path(std::uint32_t index);
  Amounts free_for(std::uint32_t index, const LevelPath& path) const;
  void grant(std::uint32_t index, const LevelPath& path, const Amounts& amounts);
  bool is_short(std::uint32_t index);
  void keep(std::uint32_t index, const Amounts& amounts);
  void withdraw(const LevelPath& path, const Amounts& amounts);
  void mark_raise(std::uint32_t index);
  void mark_reclaim(std::uint32_t index, const Amounts& amounts);
  void serve_wishes(std::int64_t now_ns, bool ask_again);

  List& list_of(std::uint32_t index);
  void enter_wish(std::uint32_t index, WishKind kind);
  void leave_wish(std::uint32_t index);
  bool serve(std::uint32_t index);
  void serve_waiting(std::uint32_t cls, bool ask_again);
  void serve_brief();
  void hold(const LevelPath& path, const Amounts& need);
  void clear_holds();
  bool can_ever_serve(std::uint32_t index);
  std::array<std::uint32_t, kMaxClasses> classes_by_share() const;

  void ask_for(std::uint32_t index, const LevelPath& path, const Amounts& need);
  void ask_back(std::uint32_t wisher, const Missing& missing);
  bool shares(std::uint32_t index, std::uint32_t wisher, const Missing& missing) const;

  Accounts* accounts_;
  std::vector<Credit> credits_;  // [session][class]
  std::vector<Holder> holders_;
  BoundedRing<std::uint32_t> raises_;    // credits whose grants are to be told
  BoundedRing<std::uint32_t> reclaims_;  // credits of which some is to be asked back
  std::array<List, kMaxClasses> waiting_{};
  List brief_;
  std::vector<Level*> held_;  // levels that hold something for those who wait
  std::array<std::uint32_t, kMaxClasses> weights_{};
  std::uint32_t waiting_count_ = 0;
  std::uint32_t reclaims_open_ = 0;  // untold or not answered
  std::uint32_t cursor_ = 0;         // whose unused credit is asked back next
  std::int64_t ask_again_ns_ = 0;
  bool changed_ = false;  // something was freed, answered or wished
};

}  // namespace tentq::core
