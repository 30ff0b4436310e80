// What all commands share: options, the daemon they measure, and how results are printed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/clock.h"
#include "tests/bench/comparison.h"
#include "tests/support/daemon_process.h"

namespace tentq::bench {

using Json = nlohmann::ordered_json;

struct CommonOptions {
  bool json = false;
  std::string socket;  // empty: a private daemon
  std::string tentqd;  // empty: found beside this program
  std::string config;  // a file of private daemons' keys; empty: none
  std::uint64_t seed = 1;
};

// Exit codes of tentq-bench.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // bytes were wrong, work was lost, or it could not be run
inline constexpr int kExitUsage = 2;

// What a command found: the printed object, and whether every byte was right and nothing was lost.
// The verdict on speed is a key of the object and does not change the exit code.
struct Outcome {
  Json figures;
  bool correct = true;
};

// Adds `name` with the options that all commands have. `run` is called after parsing.
CLI::App* add_command(CLI::App& app, CommonOptions* common, int* exit_code, const std::string& name,
                      const std::string& about, const std::string& formulas,
                      std::function<Outcome()> run);
// `--NAME` as a number of bytes: 4096, 4KiB, 16MiB.
CLI::Option* add_size(CLI::App* app, const std::string& name, std::uint64_t* bytes,
                      const std::string& about);
// Checks that a number is a multiple of `step`.
CLI::Validator multiple_of(std::uint64_t step);
// `--rounds`, `--bound`.
struct RoundOptions {
  unsigned rounds = kLeastRounds;
  double bound = 0;
};
void add_rounds(CLI::App* app, RoundOptions* options, const std::string& bound_about);

// The keys that every compared figure has: verdict, interval, rounds, attempts.
void add_verdict(Json* figures, const Comparison& comparison, const Bound& bound);

// The daemon under measurement: a private one, or the one behind --socket.
class Host {
 public:
  // A private one runs in that network; -1: in this process's.
  Host(const CommonOptions& options, const nlohmann::json& config, int network = -1);

  const std::string& socket() const { return socket_; }
  test::DaemonProcess* daemon() { return daemon_.get(); }  // null: not ours
  pid_t daemon_pid() const;
  nlohmann::json status() const;
  nlohmann::json queue() const;

 private:
  std::string socket_;
  std::unique_ptr<test::DaemonProcess> daemon_;
};

}  // namespace tentq::bench
