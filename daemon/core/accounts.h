// What is promised at every level that has a limit (host, class, client, session), and what is
// outstanding. A promise covers what it becomes: no sum ever exceeds its limit. Conductor thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/core/amounts.h"
#include "daemon/core/limits.h"

namespace tentq::core {

struct Level {
  Amounts limit;          // of users
  Amounts committed;      // admission credit: granted, not released; covers what is outstanding
  Amounts held;           // gathered here for wishes that wait, in their order
  Amounts tolerated;      // committed when the limit was lowered below it
  Amounts asked;          // what wishes that did not wait lacked here
  bool is_short = false;  // released credit is kept for others instead of granted again

  // What may still be promised to whoever waits first, to anybody else.
  Amounts room() const { return minus_saturating(limit, committed); }
  Amounts room_beside_holds() const { return minus_saturating(room(), held); }
  bool lacks() const { return !fits(held, room()) || !is_zero(asked) || !fits(committed, limit); }
};

// The levels of one session's class.
inline constexpr std::size_t kLevels = 4;
using LevelPath = std::array<Level*, kLevels>;

class Accounts {
 public:
  Accounts(std::uint32_t sessions, std::uint32_t clients)
      : own_limits_(clients, kAsAll), clients_(clients), sessions_(sessions) {}

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
  // Outstanding, of all sessions together.
  const Amounts& users() const { return users_; }
  const Amounts& internal() const { return internal_; }

  void set_limits(const Limits& limits);
  // A client's own limit, field by field; false when that is what it has.
  bool set_client_limit(std::uint32_t client, const Amounts& own);
  // Of a session that comes; nothing of an earlier one may be left.
  void set_session_limit(std::uint32_t session, const Amounts& limit);
  // After any change of a level.
  void update_short(Level& level) {
    const bool now_short = level.lacks();
    if (now_short == level.is_short) return;
    level.is_short = now_short;
    short_count_ += now_short ? 1 : -1;
  }
  bool none_short() const { return short_count_ == 0; }
  // Every promise is within its limit, and covers what is outstanding.
  void check() const;

  void charge(const Amounts& amounts, bool internal) {
    core::charge(internal ? internal_ : users_, amounts);
    if (internal) update_host_limit();
  }
  void release(const Amounts& amounts, bool internal) {
    core::release(internal ? internal_ : users_, amounts);
    if (internal) update_host_limit();
  }
  // What internal work may still take: never what users were promised.
  Amounts internal_room() const;
  Amounts outstanding() const { return plus_saturating(users_, internal_); }

 private:
  static constexpr Amounts kAsAll{kAsAllClients, kAsAllClients, kAsAllClients};

  void update_host_limit();
  void change(Level& level, const Amounts& limit);
  Amounts limit_of_client(std::uint32_t client) const;

  std::int32_t short_count_ = 0;  // levels that are short
  Amounts host_total_;
  Amounts reserve_;
  Amounts users_;     // outstanding
  Amounts internal_;  // outstanding
  Level host_;        // of users; its limit leaves room for internal work
  std::array<Level, kMaxClasses> classes_{};
  Amounts all_clients_;              // of those without a limit of their own
  std::vector<Amounts> own_limits_;  // by client
  std::vector<Level> clients_;
  std::vector<Level> sessions_;
};

}  // namespace tentq::core
