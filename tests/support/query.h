// Asks a running daemon over one of its sockets, as tentqctl does. Blocking, with a time limit.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "proto/control.h"

namespace tentq::test {

// The JSON document that answers `kind`; `argument` as in Query::argument. Throws
// std::runtime_error when the daemon cannot be reached, refuses, or does not answer in time.
nlohmann::json query(const std::string& socket, QueryKind kind, const std::string& argument = "",
                     std::chrono::milliseconds most = std::chrono::seconds{10});

// A command of the admin socket (drain, resume, set). Throws as query(); returns the answer's text.
std::string command(const std::string& admin_socket, CommandKind kind,
                    const std::string& argument = "",
                    std::chrono::milliseconds most = std::chrono::seconds{10});

}  // namespace tentq::test
