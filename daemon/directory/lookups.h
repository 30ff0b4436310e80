// Names that somebody wants to open and that the table does not have, asked for one after the
// other. Bounded in number and time. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "daemon/directory/calls.h"
#include "proto/units.h"

namespace tentq::directory {

class Lookups {
 public:
  // Found, or Failed.
  using Answered = std::function<void(const Answer&)>;
  static constexpr std::size_t kMost = 1024;

  // Each is asked of etcd this often before it is given up.
  explicit Lookups(std::uint32_t attempts) : attempts_(attempts) {}

  bool full() const { return waiting_.size() >= kMost; }
  // Not when full. `answered` is called later, never from in here.
  void add(std::string name, Time give_up, Answered answered);
  std::optional<Call> next();
  void answered(const Answer& answer);
  void expire(Time now);
  Time next_deadline() const;

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::string name;
    Time give_up{};
    std::uint32_t failures = 0;
    Answered answered;
  };

  void end(std::size_t at, const Answer& answer);

  const std::uint32_t attempts_;
  std::deque<Waiting> waiting_;  // in order of give_up
  std::optional<std::uint64_t> asked_;
  std::uint64_t next_number_ = 1;
  std::optional<Failed> last_failure_;
};

}  // namespace tentq::directory
