// The distinct errors since the start: how often, when first and last, and what to do. Also keeps a
// cause that repeats from flooding the log: one line per cause and 10 s, which tells how many were
// left out. One thread (the conductor); time is passed in; bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings.h"
#include "proto/units.h"

namespace tentq {

// One cause, as listings show it.
struct BookedError {
  std::string cause;  // "session.bad_sequence": fixed words of ours, or with an id behind
  LogLevel level = LogLevel::error;
  std::uint64_t count = 0;
  Time first{};
  Time last{};
  std::string text;    // of the latest occurrence, escaped
  std::string remedy;  // what an operator can do
};

class ErrorBook {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  static constexpr std::size_t kMostCauses = 256;
  static constexpr Duration kQuietTime = std::chrono::seconds{10};
  // When the book is full, a cause that was silent for this long makes room for a new one.
  static constexpr Duration kForgetTime = std::chrono::hours{1};

  // `sink` gets every line; tentqd passes log_text.
  explicit ErrorBook(Sink sink, std::size_t most_causes = kMostCauses);

  // Counts one occurrence, and logs it if its cause was not logged within the last 10 s. Texts are
  // escaped and cut here. When the book is full, the occurrence is booked under the cause "other".
  void report(LogLevel level, std::string_view cause, std::string_view text,
              std::string_view remedy, Time now);
  // Logs what was left out of causes that have been silent since; call it when next_deadline()
  // has passed.
  void tick(Time now);
  std::optional<Time> next_deadline() const;

  // Latest last.
  std::vector<BookedError> errors() const;
  std::uint64_t total() const { return total_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    BookedError error;
    Time logged{};
    std::uint64_t suppressed = 0;
  };
  Entry* find(std::string_view cause);
  Entry* place_for(std::string_view cause, Time now);
  void write(Entry* entry, Time now);

  Sink sink_;
  std::size_t most_causes_;
  std::vector<Entry> entries_;
  std::uint64_t total_ = 0;
};

}  // namespace tentq
