// tentqd: command line, configuration, lock, then the daemon. Exit codes: 0 stopped, 1 failed,
// 2 bad configuration or command line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "daemon/config/config.h"
#include "daemon/daemon.h"
#include "daemon/instance.h"
#include "daemon/logging/log.h"
#include "proto/version.h"
#include "transports/shm/guarded_copy.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadConfiguration = 2;

struct CommandLine {
  std::string config;
  bool check_config = false;
  bool print_config = false;
};

// The file to read: --config, $TENTQ_CONFIG, or the default one if it exists.
std::string config_path(const CommandLine& line, bool* required) {
  *required = true;
  if (!line.config.empty()) return line.config;
  if (const char* path = std::getenv(tentq::kConfigVariable); path != nullptr && *path != '\0') {
    return path;
  }
  *required = false;
  return tentq::kDefaultConfigPath;
}

int serve(tentq::Settings settings, const std::string& path) {
  std::string why;
  if (!tentq::open_log(settings.log, &why)) {
    std::fprintf(stderr, "tentqd: %s\n", why.c_str());
    return kFailed;
  }
  const auto fail = [&] {
    tentq::log(tentq::LogLevel::error, "{}", why);
    return kFailed;
  };
  tentq::InstanceLock lock;
  if (!lock.acquire(settings.lock_path, &why)) return fail();
  tentq::Epoch epoch;
  if (!tentq::begin_epoch(settings.state_directory, &epoch, &why)) return fail();
  std::optional<tentq::PeerTerms> terms;
  if (settings.peers.enabled() &&
      !tentq::load_terms(settings.peers, settings.state_directory, epoch.counter, epoch.random,
                         &terms.emplace(), &why)) {
    return fail();
  }
  tentq::install_sigbus_guard();
  tentq::Daemon daemon(std::move(settings), path, epoch, std::move(terms));
  if (!daemon.listen(&why)) return fail();
  daemon.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The host's transfer admission daemon"};
  CommandLine line;
  app.add_option("--config", line.config,
                 "Configuration file (default: $TENTQ_CONFIG, then /etc/tentq/tentqd.json)");
  app.add_flag("--check-config", line.check_config, "Check the configuration and exit (0 or 2)");
  app.add_flag("--print-config", line.print_config, "Print the effective configuration and exit");
  app.set_version_flag("--version", std::string("tentqd ") + tentq::kProductVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadConfiguration;
  }

  bool required = false;
  std::string path = config_path(line, &required);
  tentq::ConfigOutcome outcome = tentq::load_settings(path);
  if (outcome.missing && !required) {
    outcome = tentq::ConfigOutcome{tentq::Settings{}, {}, false};
    path.clear();
  }
  for (const tentq::ConfigError& error : outcome.errors) {
    std::fprintf(stderr, "tentqd: %s\n", error.text().c_str());
  }
  if (!outcome.ok()) return kBadConfiguration;
  if (line.print_config) {
    std::fputs(tentq::print_settings(*outcome.settings).c_str(), stdout);
    return 0;
  }
  if (line.check_config) {
    std::printf("%s: ok\n", path.empty() ? "defaults" : path.c_str());
    return 0;
  }
  try {
    return serve(std::move(*outcome.settings), path);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "tentqd: contradictory limits: %s\n", error.what());
    return kBadConfiguration;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tentqd: %s\n", error.what());
    return kFailed;
  }
}
