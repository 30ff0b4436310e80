// Settings of one statement of a scenario file, and checks that several statements share.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/sim/scenario.h"
#include "tests/sim/words.h"

namespace tentq::sim {

inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
inline constexpr std::uint32_t kMostSessions = 4096;

// In any order, each at most once.
class Settings {
 public:
  explicit Settings(Words& words) : words_(words) {}
  // The next key; empty at the end of the line.
  std::string next(const std::vector<std::string_view>& known) {
    if (words_.empty()) return {};
    std::string key(known[words_.one_of("setting", known)]);
    if (!seen_.insert(key).second) words_.fail("`" + key + "` stands twice", "keep one of them");
    return key;
  }
  bool has(const std::string& key) const { return seen_.contains(key); }
  void require(const std::string& key, const std::string& example) {
    if (!has(key)) words_.fail("`" + key + "` is missing", "add `" + example + "`");
  }

 private:
  Words& words_;
  std::set<std::string> seen_;
};

inline std::int64_t above_zero(Words& words, std::string_view what) {
  const std::int64_t value = words.duration_ns(what);
  if (value == 0) {
    words.fail("the " + std::string(what) + " is 0", "write a longer one, such as 1s");
  }
  return value;
}

inline void check_new(Words& words, const std::string& name, bool exists) {
  if (exists) words.fail("`" + name + "` stands above already", "choose another name");
}

// Statements that are more than a few lines; the others stand in parse.cc.
void parse_client(Words& words, Scenario* scenario);
void parse_lane(Words& words, Scenario* scenario);
// Of networks: net/parse_net.cc.
void parse_hosts(Words& words, Scenario* scenario);
void parse_network(Words& words, Scenario* scenario);
void parse_credits(Words& words, Scenario* scenario);
void parse_path(Words& words, Scenario* scenario);
void change_hosts(Words& words, const Scenario& scenario, Change* change);
void change_partition(Words& words, const Scenario& scenario, Change* change);
void check_network(const Words& at_end, const Scenario& scenario);

// A setting of a lane's window; false: the key is another one.
bool take_window(Words& words, const std::string& key, LaneSpec* lane);

}  // namespace tentq::sim
