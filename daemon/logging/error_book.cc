// Counting, collapsing and forgetting causes. The conductor's; times come from the caller.
#include "daemon/logging/error_book.h"

#include <algorithm>

#include "daemon/logging/log.h"
#include "proto/check.h"

namespace tentq {
namespace {

constexpr std::string_view kOther = "other";
constexpr std::size_t kCauseBytes = 64;

}  // namespace

ErrorBook::ErrorBook(Sink sink, std::size_t most_causes)
    : sink_(std::move(sink)), most_causes_(most_causes) {
  TENTQ_CHECK(most_causes_ >= 2);  // one is kept for "other"
}

void ErrorBook::report(LogLevel level, std::string_view cause, std::string_view text,
                       std::string_view remedy, Time now) {
  ++total_;
  const std::string name = escaped(cause, kCauseBytes);
  Entry* entry = find(name);
  if (entry == nullptr) entry = place_for(name, now);
  BookedError& error = entry->error;
  const bool first = error.count == 0;
  if (first) error.first = now;
  ++error.count;
  error.level = level;
  error.last = now;
  error.text = escaped(text);
  error.remedy = escaped(remedy);
  if (first || now - entry->logged >= kQuietTime) {
    write(entry, now);
  } else {
    ++entry->suppressed;
  }
}

void ErrorBook::tick(Time now) {
  for (Entry& entry : entries_) {
    if (entry.suppressed != 0 && now - entry.logged >= kQuietTime) write(&entry, now);
  }
}

std::optional<Time> ErrorBook::next_deadline() const {
  std::optional<Time> next;
  for (const Entry& entry : entries_) {
    if (entry.suppressed == 0) continue;
    const Time due = entry.logged + kQuietTime;
    if (!next || due < *next) next = due;
  }
  return next;
}

std::vector<BookedError> ErrorBook::errors() const {
  std::vector<BookedError> out;
  for (const Entry& entry : entries_) out.push_back(entry.error);
  std::stable_sort(out.begin(), out.end(),
                   [](const BookedError& a, const BookedError& b) { return a.last < b.last; });
  return out;
}

ErrorBook::Entry* ErrorBook::find(std::string_view cause) {
  for (Entry& entry : entries_) {
    if (entry.error.cause == cause) return &entry;
  }
  return nullptr;
}

// A place for a cause that has none yet. The last place is kept for "other".
ErrorBook::Entry* ErrorBook::place_for(std::string_view cause, Time now) {
  const auto fresh = [&](std::string_view name) {
    entries_.emplace_back();
    entries_.back().error.cause = name;
    return &entries_.back();
  };
  if (entries_.size() + 1 < most_causes_ || cause == kOther) return fresh(cause);
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.error.last < b.error.last; });
  if (oldest->suppressed == 0 && now - oldest->error.last >= kForgetTime) {
    *oldest = Entry{};
    oldest->error.cause = cause;
    return &*oldest;
  }
  Entry* other = find(kOther);
  return other != nullptr ? other : fresh(kOther);
}

void ErrorBook::write(Entry* entry, Time now) {
  std::string line = entry->error.cause + ": " + entry->error.text;
  if (entry->suppressed != 0) {
    line += " (" + std::to_string(entry->suppressed) + " more since the last line)";
  }
  if (!entry->error.remedy.empty()) line += "; " + entry->error.remedy;
  sink_(entry->error.level, line);
  entry->logged = now;
  entry->suppressed = 0;
}

}  // namespace tentq
