// What is charged and what is promised, at every level that has a limit: host, class, client,
// session. Both sums stay at or below the level's limit. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/amounts.h"
#include "daemon/core/limits.h"

namespace tentq::core {

struct Level {
  Amounts limit;          // of users
  Amounts outstanding;    // charged to owners that have not ended
  Amounts committed;      // admission credit: granted, not released; covers what is outstanding
  Amounts held;           // gathered here for wishes that wait, in their order
  Amounts tolerated;      // committed when the limit was lowered below it
  Amounts asked;          // what wishes that did not wait lacked here
  bool is_short = false;  // released credit is kept for others instead of granted again

  // What may still be promised to whoever waits first, to anybody else.
  Amounts room() const { return minus_saturating(limit, committed); }
  Amounts room_beside_holds() const { return minus_saturating(room(), held); }
  void update_short() {
    is_short = !fits(held, room()) || !is_zero(asked) || !fits(committed, limit);
  }
};

// Where one owner or one session's class is charged. The order is that in which limits are judged.
inline constexpr std::size_t kLevels = 4;
using LevelPath = std::array<Level*, kLevels>;

class Accounts {
 public:
  Accounts(std::uint32_t sessions, std::uint32_t clients)
      : clients_(clients), sessions_(sessions) {}

  LevelPath path(std::uint32_t session, std::uint32_t client, std::uint32_t cls) {
    return {&host_, &classes_[cls], &clients_[client], &sessions_[session]};
  }
  Level& host() { return host_; }
  Level& of_class(std::uint32_t cls) { return classes_[cls]; }
  Level& of_client(std::uint32_t client) { return clients_[client]; }
  Level& of_session(std::uint32_t session) { return sessions_[session]; }
  const Level& host() const { return host_; }
  const Level& of_class(std::uint32_t cls) const { return classes_[cls]; }
  const Level& of_client(std::uint32_t client) const { return clients_[client]; }
  const Level& of_session(std::uint32_t session) const { return sessions_[session]; }
  const Amounts& internal() const { return internal_; }

  void set_limits(const Limits& limits);
  // Every sum within its limit; Σ of the levels' outstanding equals the host's.
  void check() const;

  // Users: at all four levels. Internal work: at the host, its class and its session.
  void charge(const Amounts& amounts, std::uint32_t session, std::uint32_t client,
              std::uint32_t cls, bool internal);
  void release(const Amounts& amounts, std::uint32_t session, std::uint32_t client,
               std::uint32_t cls, bool internal);
  // What internal work may still take: never what users were promised.
  Amounts internal_room(std::uint32_t cls) const;
  // Of users and internal work together.
  Amounts outstanding() const { return plus_saturating(host_.outstanding, internal_); }

 private:
  void update_host_limit();

  Amounts host_total_;
  Amounts reserve_;
  Amounts internal_;  // outstanding
  Level host_;        // of users; its limit leaves room for internal work
  std::array<Level, kMaxClasses> classes_{};
  std::vector<Level> clients_;
  std::vector<Level> sessions_;
};

}  // namespace tentq::core
