// A trace of LLM requests: one JSON object a line, as published with the FAST'25 Mooncake paper.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace tentq::bench {

struct TraceRequest {
  std::uint64_t timestamp_ms = 0;     // from the trace's start; never decreases
  std::vector<std::uint64_t> blocks;  // ids of the prefix's blocks in order, each once
};

// Reads at most `most` requests (0 = all). Keys: `timestamp` (milliseconds, a number ≥ 0) and
// `hash_ids` (whole numbers ≥ 0; a repeated one counts once); others are ignored, empty lines too.
// Throws std::runtime_error `NAME:LINE: what is wrong` at the first bad line, and for no request.
std::vector<TraceRequest> read_trace(std::istream& in, const std::string& name, std::uint64_t most);
std::vector<TraceRequest> read_trace_file(const std::string& path, std::uint64_t most);

}  // namespace tentq::bench
