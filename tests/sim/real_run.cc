// Processes and clocks of a real run. See real_run.h. The parent has no threads; every session is a
// process of its own with one thread.
#include "tests/sim/real_run.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tests/bench/clock.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/qos/roles.h"
#include "tests/sim/simulation.h"
#include "tests/support/daemon_process.h"

namespace tentq::sim {
namespace {

using bench::check_ok;
using bench::now_ns;
using bench::value_of;

constexpr std::uint64_t kMostSamples = 1u << 16;  // of one session
constexpr std::int64_t kLeadNs = 50'000'000;      // from the order to the start
constexpr std::chrono::seconds kPatience{30};

struct RealSample {
  std::int64_t intended_ns = 0;  // from the start
  std::int64_t ended_ns = 0;
  std::uint64_t bytes = 0;
  std::int64_t thought_ns = -1;  // from the end before, as the daemon wrote it; -1: none before
};

// What all processes see.
struct Shared {
  explicit Shared(std::uint32_t sessions) : start_ns(1), samples(sessions * kMostSamples) {}
  test::SharedArray<std::int64_t> start_ns;  // [0], CLOCK_MONOTONIC
  test::SharedArray<RealSample> samples;     // kMostSamples for each session
};

// One session of a closed load: as KeepLoad in load.h does it.
class ClosedSession {
 public:
  ClosedSession(const bench::qos::Setup& setup, const ClientSpec& spec, std::uint32_t number,
                std::optional<uid_t> uid)
      : spec_(spec),
        largest_(*std::max_element(spec.sizes.begin(), spec.sizes.end())),
        number_(number),
        client_(bench::qos::attach(setup, spec.name + "-" + std::to_string(number), uid)),
        memory_(value_of(client_.allocate(spec.depth * largest_), "allocate")),
        segment_(value_of(client_.open_segment(bench::qos::kExporter), "open_segment")),
        pattern_(setup.seed, 0) {
    for (std::uint32_t i = spec.depth; i-- > 0;) free_.push_back(i);
  }

  bench::Report run(std::int64_t start_ns, std::int64_t duration_ns, RealSample* samples) {
    bench::Report report;
    const std::int64_t left_ns = std::clamp<std::int64_t>(start_ns - now_ns(), 0, kLeadNs);
    const timespec lead = {0, left_ns};
    ::ppoll(nullptr, 0, &lead, nullptr);
    while (now_ns() - start_ns < duration_ns && report.count < kMostSamples) {
      while (!free_.empty()) submit(now_ns());
      const Flight& oldest = flights_.front();
      check_ok(oldest.batch.wait(kPatience), "wait");
      RealSample& sample = samples[report.count++];
      sample = {oldest.submitted_ns - start_ns, now_ns() - start_ns, oldest.length,
                oldest.thought_ns};
      if (!retire()) report.errors += 1;
    }
    while (!flights_.empty()) {
      check_ok(flights_.front().batch.wait(kPatience), "wait");
      if (!retire()) report.errors += 1;
    }
    return report;
  }

 private:
  struct Flight {
    Batch batch;
    std::int64_t submitted_ns = 0;
    std::int64_t thought_ns = -1;
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
    std::uint32_t buffer = 0;
  };

  void submit(std::int64_t submitted_ns) {
    Flight flight;
    flight.submitted_ns = submitted_ns;
    if (last_end_ns_ != 0) flight.thought_ns = submitted_ns - std::exchange(last_end_ns_, 0);
    flight.length = spec_.sizes[(count_ + number_) % spec_.sizes.size()];
    flight.offset = (count_ * largest_) % (bench::qos::kSourceBytes - largest_) / 4096 * 4096;
    flight.buffer = free_.back();
    free_.pop_back();
    flight.batch = value_of(client_.allocate_batch(1), "allocate_batch");
    const std::span<std::byte> to = buffer(flight);
    bench::qos::spoil(to);
    const Request request = {Opcode::read, to.data(), segment_, flight.offset, to.size()};
    check_ok(client_.submit_wait(flight.batch, {&request, 1},
                                 {.cls = static_cast<Class>(index_of(spec_.cls))}, kPatience),
             "submit_wait");
    count_ += 1;
    flights_.push_back(std::move(flight));
  }

  // The oldest one is done. True if its bytes are right.
  bool retire() {
    Flight& flight = flights_.front();
    last_end_ns_ =
        std::chrono::nanoseconds(flight.batch.status(0).completed.time_since_epoch()).count();
    const bool right = flight.batch.status(0).state == State::completed &&
                       bench::qos::verify(pattern_, buffer(flight), flight.offset);
    free_.push_back(flight.buffer);
    client_.free_batch(flight.batch);
    flights_.pop_front();
    return right;
  }

  std::span<std::byte> buffer(const Flight& flight) const {
    return memory_.bytes().subspan(flight.buffer * largest_, flight.length);
  }

  const ClientSpec& spec_;
  std::uint64_t largest_;
  std::uint32_t number_;
  Client client_;
  Memory memory_;
  Segment segment_;
  bench::Pattern pattern_;
  std::uint64_t count_ = 0;
  std::int64_t last_end_ns_ = 0;
  std::vector<std::uint32_t> free_;  // buffers
  std::deque<Flight> flights_;
};

nlohmann::json config_of(const Scenario& scenario) {
  const LaneSpec& lane = scenario.lanes.front();
  nlohmann::json config = {{"socket_mode", "0666"},
                           {"policy", side_of(scenario.policy).name},
                           {"sessions", {{"handshake", "1min"}}}};
  config["limits"]["age_max"] = std::to_string(scenario.limits.age_max.count()) + "ns";
  config["shm"] = {{"paced_bytes_per_second", lane.rate},
                   {"window_bytes", lane.window_bytes},
                   {"window_chunks", lane.window_chunks},
                   {"chunk_bytes", lane.chunk_bytes},
                   {"adaptive", lane.rules.adaptive}};
  if (lane.rules.adaptive) {
    config["shm"]["delay_target"] = std::to_string(lane.rules.delay_target.count()) + "ns";
  }
  return config;
}

struct Member {
  std::uint32_t group = 0;
  std::uint32_t client = 0;  // its number in the record
};

std::vector<Member> members_of(const Scenario& scenario) {
  std::vector<Member> members;
  std::uint32_t client = 0;
  for (std::uint32_t group = 0; group < scenario.clients.size(); ++group) {
    for (std::uint32_t i = 0; i < scenario.clients[group].count; ++i) {
      members.push_back({group, client++});
    }
  }
  return members;
}

RealRun run_of(const Scenario& scenario, const std::vector<Member>& members,
               const std::vector<bench::Report>& reports, const Shared& shared) {
  RealRun run;
  Record& record = run.record;
  record.lanes = {{0, {{0, scenario.lanes.front().rate}}}};
  for (std::size_t m = 0; m < members.size(); ++m) {
    record.clients.push_back({members[m].group, scenario.clients[members[m].group].weight});
    for (std::uint64_t i = 0; i < reports[m].count; ++i) {
      const RealSample& real = shared.samples[m * kMostSamples + i];
      if (real.thought_ns >= 0)
        run.thought_us.push_back(static_cast<double>(real.thought_ns) / 1e3);
      Sample sample;
      sample.client = members[m].client;
      sample.intended_ns = real.intended_ns;
      sample.ended_ns = real.ended_ns;
      sample.bytes = real.bytes;
      sample.completed = true;
      record.samples.push_back(sample);
      // An owner's bytes count when it ends: its chunks are not seen from outside.
      record.moved.push_back({real.ended_ns, sample.client, 0, real.bytes});
    }
    if (reports[m].errors != 0) {
      throw std::runtime_error(scenario.clients[members[m].group].name + ": " +
                               std::to_string(reports[m].errors) + " owners with wrong bytes");
    }
  }
  return run;
}

}  // namespace

std::string why_not_real(const Scenario& scenario) {
  const LaneSpec& lane = scenario.lanes.front();
  if (scenario.lanes.size() != 1) return "it has several lanes; leave one";
  if (lane.delay_ns != 0 || lane.jitter_ns != 0) return "its lane has a delay; leave the rate";
  if (lane.chunk_bytes != 0 && (lane.chunk_bytes < 64u << 10 || lane.chunk_bytes > 1u << 20)) {
    return "a real lane has chunks of 64KiB to 1MiB; write `chunk 64KiB`";
  }
  if (!scenario.changes.empty()) return "it has changes; leave them out";
  for (const ClientSpec& client : scenario.clients) {
    const std::string name = "client `" + client.name + "` ";
    if (client.kind != LoadKind::closed) return name + "does not block; write `closed N`";
    if (client.sessions != 1 || client.weight != 1 || client.in_flight_bytes != 0) {
      return name + "has sessions, a weight or a cap; write `count N` instead";
    }
    if (*std::max_element(client.sizes.begin(), client.sizes.end()) >
        bench::qos::kSourceBytes / 2) {
      return name + "has owners above 32MiB; write smaller ones";
    }
  }
  return {};
}

RealRun run_for_real(const Scenario& scenario, const std::string& tentqd) {
  const std::vector<Member> members = members_of(scenario);
  bench::qos::Setup setup(bench::qos::QosOptions{}, scenario.seed, 1);
  Shared shared(static_cast<std::uint32_t>(members.size()));
  test::DaemonOptions options;
  options.binary = tentqd;
  options.config = config_of(scenario);
  test::DaemonProcess daemon(std::move(options));
  setup.socket = daemon.socket();
  // Clients of other users are to reach the socket.
  if (::chmod(daemon.directory().c_str(), 0711) != 0) {
    throw std::runtime_error("cannot open the daemon's directory to other users");
  }
  std::list<test::Role> roles;
  roles.push_back(bench::qos::start_source(setup));
  bench::await_ready(roles.back());
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    const ClientSpec& spec = scenario.clients[members[m].group];
    std::optional<uid_t> uid;
    if (bench::qos::can_be_several_users()) uid = bench::qos::uid_of_client(m);
    roles.emplace_back(spec.name, bench::kRoleLimit, [&, m, uid](test::RoleChannel& channel) {
      ClosedSession session(setup, spec, m, uid);
      return bench::serve_orders(channel, [&](const bench::Order&) {
        return session.run(shared.start_ns[0], scenario.duration_ns,
                           shared.samples.data() + m * kMostSamples);
      });
    });
    bench::await_ready(roles.back());
  }
  std::vector<test::Role*> clients;
  for (auto role = std::next(roles.begin()); role != roles.end(); ++role) clients.push_back(&*role);
  shared.start_ns[0] = now_ns() + kLeadNs;
  const auto reports = bench::order_all(clients, {bench::OrderKind::subject, 0, 0});
  RealRun run = run_of(scenario, members, reports, shared);
  clients.push_back(&roles.front());
  bench::stop_all(clients);
  return run;
}

}  // namespace tentq::sim
