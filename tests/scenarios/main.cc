// Runs one scenario file against the core. `--write` puts what happened into the file instead of
// comparing, for a person to review.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "tests/scenarios/stage.h"

namespace {

using tentq::scenarios::Block;

void print_lines(const char* head, const std::vector<std::string>& lines) {
  std::printf("  %s\n", head);
  for (const std::string& line : lines) std::printf("    %s\n", line.c_str());
}

// Returns how many blocks went otherwise than expected.
int run(const std::string& path, bool write) {
  std::vector<Block> blocks = tentq::scenarios::read_script(path);
  tentq::scenarios::Stage stage;
  int wrong = 0;
  for (Block& block : blocks) {
    if (block.commands.empty()) continue;
    const std::vector<std::string> happened = stage.play(block);
    if (!write && happened != block.expected) {
      wrong += 1;
      std::printf("%s:%zu went otherwise\n", path.c_str(), block.line);
      print_lines("commands", block.text);
      print_lines("expected", block.expected);
      print_lines("happened", happened);
    }
    block.expected = happened;
  }
  if (write) tentq::scenarios::write_script(path, blocks);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::strcmp(argv[2], "--write") == 0;
  if (argc != 2 && !write) {
    std::printf("usage: core_scenarios FILE [--write]\n");
    return 2;
  }
  try {
    return run(argv[1], write) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", argv[1], error.what());
    return 2;
  }
}
