// Runs the groups of checks and prints what they found, as text or JSON.
#include "client/ctl/doctor.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tentq::ctl {
namespace {

std::string_view result_name(Check::Result result) {
  switch (result) {
    case Check::Result::ok: return "ok";
    case Check::Result::note: return "note";
    case Check::Result::warning: return "warning";
    case Check::Result::failure: return "failure";
  }
  return "unknown";
}

Tint result_tint(Check::Result result) {
  switch (result) {
    case Check::Result::ok: return Tint::good;
    case Check::Result::note: return Tint::dim;
    case Check::Result::warning: return Tint::warn;
    case Check::Result::failure: return Tint::bad;
  }
  return Tint::none;
}

void print_json(const std::vector<Check>& checks, bool healthy, Output& to) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const Check& check : checks) {
    rows.push_back({{"check", check.name},
                    {"result", result_name(check.result)},
                    {"detail", check.detail},
                    {"remedy", check.remedy}});
  }
  const Json json = {{"healthy", healthy}, {"checks", std::move(rows)}};
  to.out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void print_text(const std::vector<Check>& checks, Output& to) {
  constexpr std::size_t kResultWidth = 9;
  constexpr std::size_t kNameWidth = 18;
  constexpr std::size_t kIndent = kResultWidth + kNameWidth;
  for (const Check& check : checks) {
    std::string result(result_name(check.result));
    result.resize(kResultWidth, ' ');
    std::string name = check.name;
    name.resize(std::max(kNameWidth, name.size() + 1), ' ');
    to.out << tinted(result, result_tint(check.result), to.terminal) << name
           << wrapped(printable(check.detail), kMostColumns - kIndent, kIndent) << '\n';
    if (check.remedy.empty()) continue;
    to.out << std::string(kIndent, ' ')
           << wrapped("-> " + printable(check.remedy), kMostColumns - kIndent, kIndent + 3) << '\n';
  }
}

}  // namespace

bool read_line(const std::string& path, std::string* line) {
  std::ifstream file(path);
  return static_cast<bool>(std::getline(file, *line));
}

int run_doctor(const HostPaths& paths, Output& to) {
  std::vector<Check> checks;
  check_access(paths, &checks);
  check_daemon(paths, &checks);
  check_kernel(paths, &checks);
  check_devices(paths, &checks);
  const bool healthy = std::none_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.result == Check::Result::failure;
  });
  if (to.json) {
    print_json(checks, healthy, to);
  } else {
    print_text(checks, to);
  }
  return healthy ? kExitOk : kExitFailed;
}

}  // namespace tentq::ctl
