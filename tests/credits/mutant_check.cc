// Explores a copy of the code that has one fault in it, and is content when the fault was found:
// exit code 0 and the shortest trace, else 1.
#include <cstdio>

#include "tests/credits/explore.h"
#include "tests/credits/incast_model.h"

namespace {

using namespace tentq::core;

bool finds_fault(std::uint32_t senders, std::uint32_t chunks, std::uint32_t ttl_ticks) {
  IncastShape shape;
  shape.senders = senders;
  shape.chunks = chunks;
  shape.ttl_ticks = ttl_ticks;
  const Explored explored = Exploration<IncastModel>().run(IncastModel(shape), {60, 100'000});
  std::printf("%u senders, %u chunks, ttl %u ticks: %s\n", senders, chunks, ttl_ticks,
              explored.text().c_str());
  return !explored.fault.empty();
}

}  // namespace

int main() {
  for (const std::uint32_t senders : {1u, 2u}) {
    for (const std::uint32_t chunks : {2u, 5u}) {
      for (const std::uint32_t ttl_ticks : {2u, 3u}) {
        if (finds_fault(senders, chunks, ttl_ticks)) return 0;
      }
    }
  }
  std::printf("the fault was not found\n");
  return 1;
}
