// `tentq-bench idle`: what a daemon costs while its clients do nothing.
#include <dirent.h>
#include <time.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/bench/commands.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "`clients` attached clients, each with a name and 1 MiB registered, make no call.\n"
    "  daemon_cpu_percent    time on a processor of all threads of the daemon\n"
    "                        (/proc/PID/task/*/schedstat) / seconds x 100; 100 is one core\n"
    "  daemon_cpu_percent_stat  the same from /proc/PID/stat, in clock ticks\n"
    "  wakeups_per_s         voluntary context switches of all its threads / seconds\n"
    "  sleeps_per_s          times that its loop went to sleep, by its own count / seconds\n"
    "  missed_wakeups        work found on a parked session whose doorbell was silent, in all\n"
    "  verdict               pass when daemon_cpu_percent is at most --bound, else fail";

constexpr std::uint64_t kRegionBytes = 1u << 20;

struct IdleOptions {
  double seconds = 5;
  std::uint32_t clients = 16;
  double bound = 1.0;
};

struct Usage {
  std::uint64_t running_ns = 0;
  std::uint64_t ticks = 0;
  std::uint64_t voluntary_switches = 0;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return text.str();
}

// Behind `key` in /proc/PID/status.
std::uint64_t status_field(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  return at == text.npos ? 0 : std::stoull(text.substr(at + key.size()));
}

Usage usage_of(pid_t pid) {
  Usage usage;
  const std::string base = "/proc/" + std::to_string(pid);
  const std::string stat = read_file(base + "/stat");
  // utime and stime are the 12th and 13th field behind the command's closing parenthesis.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::uint64_t user = 0, system = 0;
  fields >> user >> system;
  usage.ticks = user + system;

  DIR* tasks = ::opendir((base + "/task").c_str());
  if (tasks == nullptr) throw std::runtime_error(base + "/task: cannot be read");
  while (const dirent* entry = ::readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const std::string task = base + "/task/" + entry->d_name;
    usage.running_ns += std::stoull(read_file(task + "/schedstat"));
    usage.voluntary_switches +=
        status_field(read_file(task + "/status"), "\nvoluntary_ctxt_switches:");
  }
  ::closedir(tasks);
  return usage;
}

void pause_for(double seconds) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  while (::nanosleep(&time, &time) != 0) {
  }
}

int attend(test::RoleChannel& channel, const std::string& socket, std::uint32_t clients) {
  std::vector<Client> attached;
  std::vector<Memory> memories;
  for (std::uint32_t i = 0; i < clients; ++i) {
    const std::string name = "idle-" + std::to_string(i);
    attached.push_back(value_of(Client::connect(connection(socket, name)), "connect"));
    memories.push_back(value_of(attached.back().allocate(kRegionBytes), "allocate"));
  }
  return serve_orders(channel, [](const Order&) { return Report{}; });
}

Outcome run_idle(const CommonOptions& common, const IdleOptions& options) {
  Host host(common, nlohmann::json::object());
  test::Role clients("idle-clients", kRoleLimit, [&](test::RoleChannel& channel) {
    return attend(channel, host.socket(), options.clients);
  });
  await_ready(clients);
  pause_for(1.0);  // attaching is over and everything is parked

  const pid_t pid = host.daemon_pid();
  const nlohmann::json status_before = host.status();
  pause_for(0.1);  // the query's own wake-ups are over
  const std::int64_t begin_ns = now_ns();
  const Usage before = usage_of(pid);
  pause_for(options.seconds);
  const Usage after = usage_of(pid);
  const double seconds = static_cast<double>(now_ns() - begin_ns) / 1e9;
  const nlohmann::json status_after = host.status();
  test::Role* role = &clients;
  stop_all({&role, 1});

  const auto per_second = [seconds](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) / seconds;
  };
  const double cpu_percent = per_second(before.running_ns, after.running_ns) / 1e9 * 100;
  const auto counter = [](const nlohmann::json& status, const char* key) {
    return status.at(key).get<std::uint64_t>();
  };
  Outcome outcome;
  outcome.correct = counter(status_after, "missed_wakeups") == 0;
  outcome.figures = {
      {"daemon_cpu_percent", cpu_percent},
      {"wakeups_per_s", per_second(before.voluntary_switches, after.voluntary_switches)},
      {"daemon_cpu_percent_stat",
       per_second(before.ticks, after.ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)) * 100},
      {"sleeps_per_s",
       per_second(counter(status_before, "sleeps"), counter(status_after, "sleeps"))},
      {"missed_wakeups", counter(status_after, "missed_wakeups")},
      {"clients", options.clients},
      {"seconds", seconds},
      {"verdict", cpu_percent <= options.bound ? "pass" : "fail"},
      {"bound", options.bound}};
  return outcome;
}

}  // namespace

void add_idle(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<IdleOptions>();
  CLI::App* command = add_command(app, common, exit_code, "idle",
                                  "What the daemon costs while nothing is to be done", kFormulas,
                                  [=] { return run_idle(*common, *options); });
  command->add_option("--seconds", options->seconds, "How long to look")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->add_option("--clients", options->clients, "Attached clients")
      ->check(CLI::Range(0, 120))
      ->capture_default_str();
  command->add_option("--bound", options->bound, "Verdict: daemon_cpu_percent at most this")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace tentq::bench
