// The command line of tentqctl: options, commands, exit codes.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/output.h"

namespace tentq::ctl {

// Runs one command line (without the program's name). `socket_variable` is TENTQ_SOCKET's value.
// 0: done; 1: failed, the reason is on `err`; 2: the command line is wrong.
int run(const std::vector<std::string>& words, const std::string& socket_variable, Output to);

}  // namespace tentq::ctl
