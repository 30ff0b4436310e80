// The v3 API of etcd as its gateway speaks it: calls as paths and JSON, and answers back. What
// comes from there is outside's: bounded by who reads it, parsed from a copy, checked here.
#pragma once

#include <string>
#include <string_view>

#include "daemon/directory/calls.h"

namespace tentq::directory {

struct Request {
  std::string path;
  std::string body;
};

Request encode(const Call& call, std::string_view prefix);
// A watch of all names from that revision on.
Request encode_watch(std::string_view prefix, std::int64_t revision);

// The answer to `call` that came with this status of HTTP; Failed, without an endpoint, when it is
// none.
Answer decode(const Call& call, std::string_view prefix, unsigned status, std::string_view body);
// One line of a watch's stream. More than kNamesAtOnce changes come in several.
std::vector<WatchNews> decode_watch(std::string_view prefix, std::string_view line);

}  // namespace tentq::directory
