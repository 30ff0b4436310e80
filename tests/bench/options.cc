// Options common to all commands, the private daemon, and the printed object.
#include "tests/bench/options.h"

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "shm/packet_socket.h"
#include "tests/support/query.h"

namespace tentq::bench {
namespace {

void print(const Json& figures, bool json) {
  if (json) {
    std::printf("%s\n", figures.dump().c_str());
    return;
  }
  for (const auto& [key, value] : figures.items()) {
    std::printf("%-24s %s\n", key.c_str(),
                value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
}

}  // namespace

CLI::App* add_command(CLI::App& app, CommonOptions* common, int* exit_code, const std::string& name,
                      const std::string& about, const std::string& formulas,
                      std::function<Outcome()> run) {
  CLI::App* command = app.add_subcommand(name, about);
  command->footer(formulas);
  command->add_flag("--json", common->json, "Print one JSON object");
  command->add_option("--socket", common->socket, "Measure this daemon, not a private one");
  command->add_option("--tentqd", common->tentqd, "Program of the private daemon");
  command
      ->add_option(
          "--config", common->config,
          "JSON with keys of tentqd.json for the private daemon; see tentqd --print-config")
      ->check(CLI::ExistingFile);
  command->add_option("--seed", common->seed, "Of everything random")->capture_default_str();
  command->callback([common, exit_code, run = std::move(run)] {
    const Outcome outcome = run();
    print(outcome.figures, common->json);
    *exit_code = outcome.correct ? kExitOk : kExitFailed;
  });
  return command;
}

CLI::Option* add_size(CLI::App* app, const std::string& name, std::uint64_t* bytes,
                      const std::string& about) {
  return app->add_option(name, *bytes, about)->transform(CLI::AsSizeValue(true))->type_name("SIZE");
}

CLI::Validator multiple_of(std::uint64_t step) {
  return CLI::Validator(
      [step](std::string& text) {
        std::uint64_t value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value % step == 0;
        return fits ? std::string() : text + " is not a multiple of " + std::to_string(step);
      },
      "");
}

void add_rounds(CLI::App* app, RoundOptions* options, const std::string& bound_about) {
  app->add_option("--rounds", options->rounds, "Interleaved rounds of each side")
      ->check(CLI::Range(kLeastRounds, 1000u))
      ->capture_default_str();
  app->add_option("--bound", options->bound, bound_about)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_verdict(Json* figures, const Comparison& comparison, const Bound& bound) {
  (*figures)["verdict"] = to_string(comparison.verdict);
  (*figures)["bound"] = bound.value;
  (*figures)["interval"] = {comparison.interval.low, comparison.interval.high};
  (*figures)["rounds"] = comparison.limits.size();
  (*figures)["attempts"] = comparison.attempts;
}

namespace {

nlohmann::json read_config(const std::string& file) {
  std::ifstream in(file);
  auto config = nlohmann::json::parse(in, nullptr, false, true);
  if (!config.is_object()) throw std::runtime_error(file + ": expected a JSON object");
  return config;
}

}  // namespace

Host::Host(const CommonOptions& options, const nlohmann::json& config, int network)
    : socket_(options.socket) {
  if (!socket_.empty()) {
    if (options.config.empty()) return;
    throw std::runtime_error("--config is for a private daemon, and --socket names another");
  }
  test::DaemonOptions daemon;
  daemon.binary = options.tentqd;
  daemon.network = network;
  // A busy machine may take long to carry a client through its attachment.
  daemon.config = {{"sessions", {{"handshake", "1min"}}}};
  if (!options.config.empty()) daemon.config.merge_patch(read_config(options.config));
  daemon.config.merge_patch(config);
  daemon_ = std::make_unique<test::DaemonProcess>(std::move(daemon));
  socket_ = daemon_->socket();
}

pid_t Host::daemon_pid() const {
  if (daemon_) return daemon_->pid();
  int error = 0;
  const shm::Fd socket = shm::connect_to(socket_, std::chrono::seconds{5}, &error);
  shm::PeerCredentials credentials;
  if (!socket.valid() || shm::peer_credentials(socket.get(), &credentials) != 0) {
    throw std::runtime_error(socket_ + ": cannot tell which process serves it");
  }
  return credentials.pid;
}

nlohmann::json Host::status() const {
  return test::query(socket_, QueryKind::status);
}

nlohmann::json Host::queue() const {
  return test::query(socket_, QueryKind::queue);
}

}  // namespace tentq::bench
