// Reading /proc/PID.
#include "tests/support/proc.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tentq::test {
namespace {

namespace fs = std::filesystem;

std::string root_of(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

// The fields of /proc/PID/stat behind the name, which may hold anything; the first is the state.
std::vector<std::string> stat_of(pid_t pid) {
  std::ifstream file(root_of(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string word; words >> word;) fields.push_back(word);
  return fields;
}

}  // namespace

std::string ProcessFacts::to_string() const {
  std::ostringstream text;
  text << fds << " fds, " << memfds << " memfds, " << memfd_maps << " mapped memfds, " << threads
       << " threads, " << resident_bytes << " bytes resident";
  return text.str();
}

std::vector<std::string> fds_of(pid_t pid) {
  std::vector<std::string> links;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_of(pid) + "/fd", error)) {
    const fs::path link = fs::read_symlink(entry.path(), error);
    if (!error) links.push_back(link.string());
  }
  return links;
}

ProcessFacts facts_of(pid_t pid) {
  ProcessFacts facts;
  for (const std::string& link : fds_of(pid)) {
    ++facts.fds;
    facts.memfds += link.starts_with("/memfd:");
  }
  std::ifstream maps(root_of(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    facts.memfd_maps += line.find("/memfd:") != std::string::npos;
  }
  facts.threads = threads_of(pid).size();
  const std::vector<std::string> fields = stat_of(pid);
  if (fields.size() > 21) {
    const std::uint64_t ticks = std::stoull(fields[11]) + std::stoull(fields[12]);
    facts.cpu_ns = ticks * (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
    facts.resident_bytes =
        std::stoull(fields[21]) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  return facts;
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> ids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_of(pid) + "/task", error)) {
    ids.push_back(std::stoi(entry.path().filename().string()));
  }
  return ids;
}

char state_of(pid_t pid) {
  const std::vector<std::string> fields = stat_of(pid);
  return fields.empty() ? '?' : fields[0][0];
}

}  // namespace tentq::test
