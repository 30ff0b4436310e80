// What is asked of etcd, and what comes of it. Plain data between the conductor, which decides, and
// the thread of the gateway, which speaks HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/directory/entry.h"

namespace tentq::directory {

// Of one listing's answer, and of one batch of changes.
inline constexpr std::size_t kNamesAtOnce = 256;

struct GrantLease {
  std::int64_t seconds = 0;
};
struct KeepLease {
  std::int64_t lease = 0;
};
struct RevokeLease {
  std::int64_t lease = 0;
};
// If the name has no holder; or, with `replaces`, if that is still the revision of its holder's.
struct PublishName {
  std::string name;
  Holder holder;
  std::int64_t lease = 0;
  std::int64_t replaces = 0;
};
// If it is this lease's.
struct WithdrawName {
  std::string name;
  std::int64_t lease = 0;
};
// The names behind the key `after` (empty: all) at a revision (0: now).
struct ListNames {
  std::string after;
  std::int64_t revision = 0;
};
struct FindName {
  std::string name;
};
using Call = std::variant<GrantLease, KeepLease, RevokeLease, PublishName, WithdrawName, ListNames,
                          FindName>;

enum class Fault : std::uint8_t {
  unreachable,  // no connection, no answer in time, or one that is none
  refused,      // etcd answered that it will not
  lease_lost,   // there is no such lease
  compacted,    // the revision is no longer kept
};
struct Failed {
  Fault fault{};
  std::string endpoint;  // host:port
  std::string text;      // what it was, from outside: escaped before it is logged
};
struct Leased {
  std::int64_t lease = 0;
  std::int64_t seconds = 0;  // 0: lost
};
struct Revoked {};
enum class Claim : std::uint8_t {
  done,
  held,    // by somebody else
  vacant,  // whom it should have replaced is gone
};
struct Published {
  Claim claim{};
  std::optional<Entry> holder;  // of held; none: its entry cannot be read
};
struct Withdrawn {};
struct Listed {
  std::uint64_t cluster = 0;
  std::int64_t revision = 0;
  std::vector<Entry> entries;
  std::string last;  // the last key that was looked at
  bool more = false;
};
struct Found {
  std::optional<Entry> entry;
};
using Answer = std::variant<Failed, Leased, Revoked, Published, Withdrawn, Listed, Found>;

// Of a watch.
struct WatchBegan {
  std::uint64_t cluster = 0;
  std::int64_t revision = 0;  // of etcd now
};
struct Change {
  std::string name;
  std::optional<Entry> entry;  // none: it is gone
};
struct Changes {
  std::int64_t revision = 0;  // all up to it are known after this; 0: more of it follow
  std::vector<Change> changes;
};
using WatchNews = std::variant<Failed, WatchBegan, Changes>;

}  // namespace tentq::directory
