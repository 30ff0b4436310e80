// The rounds of one client, and the counters that all processes share.
#include "tests/processes/load.h"

#include <algorithm>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/pattern.h"

namespace tentq::test {
namespace {

// As transfer(), but a daemon that drains is asked again: it refuses at once what it is known to
// refuse, and what was on its way to it when it began.
State transfer_in_the_end(Client& client, const Request& request) {
  State state = State::invalid;
  const bool ended = eventually(kLong, [&] {
    Batch batch = need(client.allocate_batch(1), "allocate_batch");
    const Status status = client.submit_wait(batch, std::span(&request, 1), {}, kLong);
    if (status.code() == Code::draining) return false;
    need(status, "submit");
    need(batch.wait(kLong), "wait");
    state = batch.status(0).state;
    return batch.status(0).reason != TaskReason::draining;
  });
  if (!ended) throw std::runtime_error("the daemon drains for too long");
  return state;
}

}  // namespace

Load::Load(const std::string& socket, Options options)
    : options_(std::move(options)), counters_(options_.clients) {
  for (std::size_t i = 0; i < options_.clients; ++i) {
    roles_.emplace_back(
        options_.prefix + std::to_string(i), std::chrono::seconds{300},
        [this, socket, i](RoleChannel&) { return run(socket, options_, i, counters_[i]); });
  }
}

Load::~Load() {
  for (Counters& counters : counters_.span()) counters.stop = true;
}

int Load::run(const std::string& socket, const Options& options, std::size_t index,
              Counters& counters) {
  Client client = attach(socket, options.prefix + std::to_string(index));
  Memory memory = allocate_at(client, 2 * options.area);
  const std::span<std::byte> out = memory.bytes().first(options.area);
  const std::span<std::byte> back = memory.bytes().subspan(options.area, options.area);
  const Segment store = need(client.open_segment(options.store), "open_segment");
  const std::uint64_t offset = index * options.area;
  while (!counters.stop) {
    const std::uint64_t seed = (index << 40) + counters.rounds + 1;
    fill_pattern(out, seed);
    // Short and long ones, so that both ways of copying are used.
    const std::size_t length = counters.rounds % 2 == 0 ? options.area : options.area / 16;
    const State wrote = transfer_in_the_end(client, write_to(store, offset, out.first(length)));
    const State read = transfer_in_the_end(client, read_from(store, offset, back.first(length)));
    if (wrote != State::completed || read != State::completed) {
      ++counters.failures;
    } else {
      counters.mismatches += pattern_differences(back.first(length), seed);
    }
    ++counters.rounds;
  }
  return 0;
}

std::uint64_t Load::sum(std::atomic<std::uint64_t> Counters::*counter) const {
  std::uint64_t total = 0;
  for (const Counters& counters : counters_.span()) total += counters.*counter;
  return total;
}

std::uint64_t Load::rounds() const {
  return sum(&Counters::rounds);
}
std::uint64_t Load::mismatches() const {
  return sum(&Counters::mismatches);
}
std::uint64_t Load::failures() const {
  return sum(&Counters::failures);
}

std::uint64_t Load::fewest_rounds() const {
  std::uint64_t fewest = ~std::uint64_t{0};
  for (const Counters& counters : counters_.span()) {
    fewest = std::min<std::uint64_t>(fewest, counters.rounds);
  }
  return fewest;
}

bool Load::proceeds(std::uint64_t more, std::chrono::milliseconds most) const {
  std::vector<std::uint64_t> goals;
  for (const Counters& counters : counters_.span()) goals.push_back(counters.rounds + more);
  return eventually(most, [&] {
    for (std::size_t i = 0; i < goals.size(); ++i) {
      if (counters_[i].rounds < goals[i]) return false;
    }
    return true;
  });
}

bool Load::stop() {
  for (Counters& counters : counters_.span()) counters.stop = true;
  bool well = true;
  for (Role& role : roles_) well = role.join(kLong) == 0 && well;
  return well;
}

}  // namespace tentq::test
