// Reading of scenario files: one statement a line, strict. What a file can say stands in README.md
// of this folder and in `tentq-sim --help`.
#pragma once

#include <string>
#include <string_view>

#include "tests/sim/scenario.h"
#include "tests/sim/words.h"

namespace tentq::sim {

// Both throw ScenarioError naming file, line, what is wrong and what to write instead.
Scenario parse_scenario(std::string_view text, const std::string& path);
Scenario read_scenario(const std::string& path);

// `expect …` behind its first word; the lanes, clients and phases above it are known.
Expectation parse_expectation(Words& words, const Scenario& scenario);

// "default" and the others as users write them; internal is no class of clients.
ClassId take_class(Words& words);
std::uint32_t take_lane(Words& words, const Scenario& scenario, const std::string& name);
std::uint32_t take_client(Words& words, const Scenario& scenario, const std::string& name);
std::uint32_t take_hosts(Words& words, const Scenario& scenario, const std::string& name);
core::Policy take_policy(Words& words);

}  // namespace tentq::sim
