// The commands of tentq-bench; each adds itself to the command line.
#pragma once

#include "tests/bench/options.h"

namespace tentq::bench {

void add_latency(CLI::App& app, CommonOptions* common, int* exit_code);
void add_bandwidth(CLI::App& app, CommonOptions* common, int* exit_code);
void add_submit(CLI::App& app, CommonOptions* common, int* exit_code);
void add_core(CLI::App& app, CommonOptions* common, int* exit_code);
void add_replay(CLI::App& app, CommonOptions* common, int* exit_code);
void add_qos(CLI::App& app, CommonOptions* common, int* exit_code);
void add_mutual(CLI::App& app, CommonOptions* common, int* exit_code);
void add_shared_link(CLI::App& app, CommonOptions* common, int* exit_code);
void add_idle(CLI::App& app, CommonOptions* common, int* exit_code);

}  // namespace tentq::bench
