// Reading and writing of scenario files.
#include "tests/scenarios/script.h"

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace tentq::scenarios {
namespace {

constexpr std::array<std::pair<const char*, std::uint64_t>, 4> kUnits = {
    {{"GiB", std::uint64_t{1} << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"", 1}}};
constexpr std::array<std::pair<const char*, std::int64_t>, 4> kTimes = {
    {{"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}, {"s", 1'000'000'000}}};

bool is_blank_or_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos || line[first] == '#';
}

Command parse_command(const std::string& line, std::size_t number) {
  Command command;
  command.line = number;
  std::istringstream words(line);
  words >> command.name;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      command.words.push_back(word);
    } else {
      command.settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return command;
}

// A number and its unit's factor, exactly.
template <class Number, class Table>
Number parse_with_unit(const std::string& text, const Table& table) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') digits += 1;
  for (const auto& [unit, factor] : table) {
    if (digits != 0 && text.substr(digits) == unit) {
      return static_cast<Number>(std::stoull(text.substr(0, digits))) * factor;
    }
  }
  throw std::runtime_error("not an amount: " + text);
}

}  // namespace

std::vector<Block> read_script(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  std::vector<Block> blocks(1);
  bool expecting = false;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    number += 1;
    if (expecting && is_blank_or_comment(line)) {
      expecting = false;
      blocks.emplace_back();
    }
    Block& block = blocks.back();
    if (expecting) {
      block.expected.push_back(line);
    } else if (line == "----") {
      expecting = true;
    } else if (is_blank_or_comment(line) && block.commands.empty()) {
      block.before.push_back(line);
    } else if (is_blank_or_comment(line)) {
      throw std::runtime_error(path.string() + ":" + std::to_string(number) +
                               ": a block of commands ends with `----`");
    } else {
      if (block.commands.empty()) block.line = number;
      block.text.push_back(line);
      block.commands.push_back(parse_command(line, number));
    }
  }
  return blocks;
}

void write_script(const std::filesystem::path& path, const std::vector<Block>& blocks) {
  std::ofstream file(path);
  for (const Block& block : blocks) {
    for (const std::string& line : block.before) file << line << '\n';
    if (block.commands.empty()) continue;
    for (const std::string& line : block.text) file << line << '\n';
    file << "----\n";
    for (const std::string& line : block.expected) file << line << '\n';
  }
}

std::uint64_t parse_bytes(const std::string& text) {
  return parse_with_unit<std::uint64_t>(text, kUnits);
}
std::int64_t parse_ns(const std::string& text) {
  return parse_with_unit<std::int64_t>(text, kTimes);
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [unit, factor] : kUnits) {
    if (bytes != 0 && bytes % factor == 0) return std::to_string(bytes / factor) + unit;
  }
  return "0";
}

}  // namespace tentq::scenarios
