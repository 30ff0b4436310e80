// A configuration's text: errors are told with their place, and what is taken is printed and read
// again as the same.
#include <string>

#include "daemon/config/config.h"
#include "tests/fuzz/pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tentq;
  using namespace tentq::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ConfigOutcome outcome = parse_settings(text, "tentqd.json");
  must(outcome.ok() == outcome.errors.empty());
  for (const ConfigError& error : outcome.errors) must(!error.text().empty());
  if (!outcome.ok()) return 0;
  const std::string printed = print_settings(*outcome.settings);
  const ConfigOutcome again = parse_settings(printed, "printed");
  must(again.ok());
  must(print_settings(*again.settings) == printed);
  return 0;
}
