// tentq-bench: measures a daemon against the limits of the machine that it runs on.
#include <cstdio>
#include <exception>

#include "proto/version.h"
#include "tests/bench/commands.h"

int main(int argc, char** argv) {
  using namespace tentq::bench;
  CLI::App app{"Measures tentqd against limits that are measured in the same run"};
  app.set_version_flag("--version", tentq::kProductVersion);
  app.require_subcommand(1);
  app.footer(
      "Each command starts private daemons itself unless --socket is given, and ends by itself.\n"
      "`tentq-bench COMMAND --help` gives the formula of every figure.\n"
      "Exit code: 0; 1 when a byte was wrong, work was lost or it could not be run; 2 for usage.");
  CommonOptions common;
  int exit_code = kExitOk;
  add_latency(app, &common, &exit_code);
  add_bandwidth(app, &common, &exit_code);
  add_submit(app, &common, &exit_code);
  add_core(app, &common, &exit_code);
  add_replay(app, &common, &exit_code);
  add_qos(app, &common, &exit_code);
  add_mutual(app, &common, &exit_code);
  add_shared_link(app, &common, &exit_code);
  add_idle(app, &common, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tentq-bench: %s\n", error.what());
    return kExitFailed;
  }
  return exit_code;
}
