// The names of all hosts, as the directory has them: listed once, then followed by a watch, which
// goes on where it was after a loss. When etcd no longer keeps what was missed, or is another one
// than before, everything is listed again. Says what to ask next and takes the answers. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "daemon/directory/calls.h"
#include "daemon/peers/backoff.h"
#include "proto/units.h"

namespace tentq::directory {

struct WatchFrom {
  std::int64_t revision = 0;
};

class KnownNames {
 public:
  using Table = std::map<std::string, Entry, std::less<>>;
  using Step = std::variant<ListNames, WatchFrom>;

  // Keeps `most` names. Others are asked for one by one.
  KnownNames(std::size_t most, std::uint64_t seed) : most_(most), backoff_(seed) {}

  // The next thing to do; none while that before is not over.
  std::optional<Step> next(Time now);
  Time next_deadline() const;
  // Of ListNames. The table before, when this was the end of a listing.
  std::optional<Table> listed(const Answer& answer, Time now);
  // Of the watch. A watch that is_open() no longer is to be ended.
  void told(const WatchNews& news, Time now);
  bool is_open() const { return phase_ == Phase::opening || phase_ == Phase::watching; }

  const Entry* find(std::string_view name) const;
  const Table& table() const { return table_; }
  // The table is what etcd has, but for what is on its way.
  bool is_following() const { return phase_ == Phase::watching; }
  std::uint64_t left_out() const { return left_out_; }
  // Attempts in a row that etcd has not carried out.
  std::uint32_t failures() const { return failures_; }

 private:
  enum class Phase : std::uint8_t { list, listing, watch, opening, watching };

  void failed(const Failed& failure, Time now);
  void list_again();
  void apply(const Changes& changes);

  const std::size_t most_;
  Backoff backoff_;
  Phase phase_ = Phase::list;
  Table table_;
  Table fresh_;            // of the listing
  std::string listed_to_;  // the last key of it
  std::int64_t listing_revision_ = 0;
  std::int64_t revision_ = 0;  // all up to it is in the table
  std::uint64_t cluster_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint32_t failures_ = 0;
  Time retry_at_{};
};

}  // namespace tentq::directory
