// The seam to etcd: carries calls out and says what came of them. Its callbacks run on the
// conductor, never from inside a call.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/directory/calls.h"
#include "daemon/directory/known_names.h"

namespace tentq::directory {

// What is asked side by side; of each, one call at a time.
enum class Line : std::uint8_t { presence, names, lookups };
inline constexpr std::size_t kLineCount = 3;

class Gateway {
 public:
  using Answered = std::function<void(const Answer& answer, Time now)>;
  using Told = std::function<void(const WatchNews& news, Time now)>;

  virtual ~Gateway() = default;
  virtual void ask(Line line, const Call& call, Answered answered) = 0;
  // In place of the watch before. Failed ends it.
  virtual void watch(std::int64_t revision, Told told) = 0;
  // Nothing more is told of it.
  virtual void stop_watch() = 0;
  // Forgets a table off the conductor.
  virtual void dispose(KnownNames::Table table) = 0;
};

}  // namespace tentq::directory
