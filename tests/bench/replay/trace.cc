// One line, one JSON object; every complaint names its line.
#include "tests/bench/replay/trace.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>

namespace tentq::bench {
namespace {

using nlohmann::json;

constexpr double kMostTimestampMs = 1e15;

std::uint64_t timestamp_of(const json& line) {
  const auto found = line.find("timestamp");
  if (found == line.end() || !found->is_number()) {
    throw std::runtime_error("`timestamp` must be a number of milliseconds");
  }
  const double value = found->get<double>();
  if (!(value >= 0 && value <= kMostTimestampMs)) {
    throw std::runtime_error("`timestamp` must not be negative: " + found->dump());
  }
  return static_cast<std::uint64_t>(std::llround(value));
}

std::vector<std::uint64_t> blocks_of(const json& line) {
  const auto found = line.find("hash_ids");
  if (found == line.end() || !found->is_array()) {
    throw std::runtime_error("`hash_ids` must be a list of block ids");
  }
  std::vector<std::uint64_t> blocks;
  std::unordered_set<std::uint64_t> seen;
  for (const json& id : *found) {
    if (!id.is_number_unsigned()) {
      throw std::runtime_error("a block id must be a whole number from 0: " + id.dump());
    }
    if (seen.insert(id.get<std::uint64_t>()).second) blocks.push_back(id.get<std::uint64_t>());
  }
  return blocks;
}

TraceRequest parse_line(const std::string& text) {
  json line;
  try {
    line = json::parse(text);
  } catch (const json::parse_error& error) {
    throw std::runtime_error("not JSON (byte " + std::to_string(error.byte) + ")");
  }
  if (!line.is_object()) throw std::runtime_error("not a JSON object");
  return {timestamp_of(line), blocks_of(line)};
}

}  // namespace

std::vector<TraceRequest> read_trace(std::istream& in, const std::string& name,
                                     std::uint64_t most) {
  std::vector<TraceRequest> requests;
  std::string text;
  std::uint64_t number = 0;
  while ((most == 0 || requests.size() < most) && std::getline(in, text)) {
    ++number;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    try {
      TraceRequest request = parse_line(text);
      if (!requests.empty() && request.timestamp_ms < requests.back().timestamp_ms) {
        throw std::runtime_error("`timestamp` is earlier than the line before");
      }
      requests.push_back(std::move(request));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(name + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (in.bad()) throw std::runtime_error(name + ": cannot be read");
  if (requests.empty()) throw std::runtime_error(name + ": holds no request");
  return requests;
}

std::vector<TraceRequest> read_trace_file(const std::string& path, std::uint64_t most) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": " + std::strerror(errno));
  return read_trace(file, path, most);
}

}  // namespace tentq::bench
