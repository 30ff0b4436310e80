// A scenario file: blocks of commands, a line `----`, and what they must lead to. Blank lines end a
// block; `#` begins a comment.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tentq::scenarios {

// One command: its words, and its settings of the form name=value.
struct Command {
  std::size_t line = 0;
  std::string name;
  std::vector<std::string> words;
  std::map<std::string, std::string> settings;
};

struct Block {
  std::size_t line = 0;
  std::vector<std::string> before;  // comments and blank lines, kept when the file is rewritten
  std::vector<std::string> text;    // the commands as they stand
  std::vector<Command> commands;
  std::vector<std::string> expected;
};

// Throws std::runtime_error naming the file and line.
std::vector<Block> read_script(const std::filesystem::path& path);
void write_script(const std::filesystem::path& path, const std::vector<Block>& blocks);

// "64KiB", "10", "2MiB"; "5ms", "100us", "2s". Throw std::runtime_error on anything else.
std::uint64_t parse_bytes(const std::string& text);
std::int64_t parse_ns(const std::string& text);
// The shortest exact form of the above.
std::string bytes_text(std::uint64_t bytes);

}  // namespace tentq::scenarios
