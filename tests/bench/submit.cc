// `tentq-bench submit`: how many small owners a second go through ring, admission, scheduling, copy
// and status, against the bare ring.
#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>

#include "tests/bench/bare_ring.h"
#include "tests/bench/commands.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/pattern.h"
#include "tests/bench/wire.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "Each client WRITEs non-adjacent pieces (nothing merges) in calls of `batch`, several calls\n"
    "outstanding, spinning with one client and blocking with more. Every piece has a place of its\n"
    "own, other bytes in every round, and is compared after it.\n"
    "  owners_per_s      median over the rounds of owners that the daemon counted as completed /\n"
    "                    (last end - first begin), from before the first submit to the last\n"
    "                    terminal status\n"
    "  ring_limit_per_s  median of the limit: a ring of the same cells between two processes, "
    "groups\n"
    "                    of `batch`, each cell copied once, nothing behind it\n"
    "  ratio             median over the interleaved rounds of (round's figure / limit's figure)\n"
    "  interval          90 % bootstrap interval of owners_per_s\n"
    "  verdict           pass when the interval lies at or above --bound, fail when below, else\n"
    "                    inconclusive (after at most 3 repeats)\n"
    "  verified          pieces whose bytes were right after a round; errors: those whose were "
    "not\n"
    "  refused           submits that were refused and repeated";

struct SubmitBenchOptions {
  std::string transport = "shm";
  std::uint32_t clients = 1;
  std::uint32_t batch = 64;
  std::uint32_t outstanding = 1'024;  // owners of one client
  std::uint64_t owners = 32'768;
  std::uint64_t size = 64;
  RoundOptions rounds{kLeastRounds, 1e6};

  std::uint64_t stride() const { return size + 64; }
  std::uint64_t depth() const { return std::max(outstanding / batch, 1u); }
};

class SubmitClient {
 public:
  SubmitClient(const std::string& socket, const PairMemory& memory, BareRing* ring,
               const std::string& exporter, const SubmitBenchOptions& options, std::uint64_t seed)
      : options_(options),
        seed_(seed),
        mapped_(memory),
        attached_(socket, memory, mapped_, exporter),
        ring_(ring) {
    requests_.resize(options.batch);
  }

  Report carry_out(const Order& order) {
    Report report;
    if (order.kind == OrderKind::limit) {
      report.begin_ns = now_ns();
      ring_->produce(options_.owners, options_.batch);
      return report;
    }
    ++fills_;
    for (std::uint64_t i = 0; i < options_.owners; ++i) {
      pattern(i).fill(piece(mapped_.local.data(), i));
    }
    report.begin_ns = now_ns();
    submit_all(&report);
    report.end_ns = now_ns();
    for (std::uint64_t i = 0; i < options_.owners; ++i) {
      ++(pattern(i).matches(piece(mapped_.remote.data(), i)) ? report.count : report.errors);
    }
    return report;
  }

 private:
  Pattern pattern(std::uint64_t index) const { return {seed_ + fills_, index}; }
  std::span<std::byte> piece(std::byte* memory, std::uint64_t index) const {
    return {memory + index * options_.stride(), options_.size};
  }

  void submit_all(Report* report) {
    std::deque<Batch> outstanding;
    for (std::uint64_t first = 0; first < options_.owners; first += options_.batch) {
      if (outstanding.size() == options_.depth()) finish_oldest(&outstanding);
      const std::uint64_t count = std::min<std::uint64_t>(options_.batch, options_.owners - first);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t offset = (first + i) * options_.stride();
        requests_[i] = {Opcode::write, mapped_.local.data() + offset, attached_.segment, offset,
                        options_.size};
      }
      Batch batch = value_of(attached_.client.allocate_batch(static_cast<std::uint32_t>(count)),
                             "allocate_batch");
      for (;;) {
        const Status status = attached_.client.submit(batch, {requests_.data(), count});
        if (status.ok()) break;
        if (!status.may_retry()) check_ok(status, "submit");
        ++report->refused;
        if (!outstanding.empty()) finish_oldest(&outstanding);
      }
      outstanding.push_back(std::move(batch));
    }
    while (!outstanding.empty()) finish_oldest(&outstanding);
  }

  void finish_oldest(std::deque<Batch>* outstanding) const {
    Batch& batch = outstanding->front();
    if (options_.clients == 1) {
      SpinLimit limit;
      while (!batch.done()) limit.turn();
    } else {
      check_ok(batch.wait(kOrderLimit), "wait");
    }
    if (batch.overall().state != State::completed) {
      throw std::runtime_error("a transfer ended " + std::string(to_string(batch.overall().state)));
    }
    outstanding->pop_front();
  }

  const SubmitBenchOptions& options_;
  const std::uint64_t seed_;
  MappedPair mapped_;
  AttachedClient attached_;
  BareRing* ring_;
  std::vector<Request> requests_;
  std::uint64_t fills_ = 0;
};

class SubmitRounds : public RoundPair {
 public:
  SubmitRounds(const Host* host, std::vector<test::Role*> clients, test::Role* peer,
               std::uint64_t owners)
      : host_(host), clients_(std::move(clients)), peer_(peer), owners_(owners) {}

  void begin_attempt() override {}
  double subject(unsigned round) override {
    const std::uint64_t before = completed_owners();
    const auto reports = order_all(clients_, {OrderKind::subject, round, 0});
    const std::uint64_t counted = completed_owners() - before;
    std::int64_t begin = reports.front().begin_ns, end = reports.front().end_ns;
    for (const Report& report : reports) {
      begin = std::min(begin, report.begin_ns);
      end = std::max(end, report.end_ns);
      verified_ += report.count;
      errors_ += report.errors;
      refused_ += report.refused;
    }
    if (counted < owners_ * clients_.size()) {
      throw std::runtime_error("the daemon counted " + std::to_string(counted) + " owners of " +
                               std::to_string(owners_ * clients_.size()));
    }
    return static_cast<double>(counted) * 1e9 / static_cast<double>(end - begin);
  }
  double limit(unsigned round) override {
    test::Role* both[] = {peer_, clients_.front()};
    const auto reports = order_all(both, {OrderKind::limit, round, owners_});
    return static_cast<double>(owners_) * 1e9 /
           static_cast<double>(reports[0].end_ns - reports[1].begin_ns);
  }

  std::uint64_t verified_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t refused_ = 0;

 private:
  std::uint64_t completed_owners() const;

  const Host* host_;
  std::vector<test::Role*> clients_;
  test::Role* peer_;
  std::uint64_t owners_;  // of one client in a round
};

std::uint64_t SubmitRounds::completed_owners() const {
  return host_->status().at("counters").at("completed").get<std::uint64_t>();
}

// One exporter and one client process; the first client is also the bare ring's producer.
struct Submitter {
  Submitter(const Host& host, BareRing* ring, const SubmitBenchOptions& options, std::uint64_t seed,
            std::uint32_t index)
      : memory(options.owners * options.stride()),
        exporter(start_exporter(host.socket(), memory, name(index))),
        client(start_client(host, ring, options, seed, index)) {
    await_ready(client);
  }
  static std::string name(std::uint32_t index) { return "bench-" + std::to_string(index); }
  test::Role start_client(const Host& host, BareRing* ring, const SubmitBenchOptions& options,
                          std::uint64_t seed, std::uint32_t index) {
    await_ready(exporter);
    return test::Role(
        name(index) + "-client", kRoleLimit, [&, ring, index](test::RoleChannel& channel) {
          SubmitClient process(host.socket(), memory, ring, name(index), options, seed + index);
          return serve_orders(channel,
                              [&](const Order& order) { return process.carry_out(order); });
        });
  }

  PairMemory memory;
  test::Role exporter;
  test::Role client;
};

Outcome run_submit(const CommonOptions& common, const SubmitBenchOptions& options) {
  Host host(common, {{"loop", {{"spin", "2ms"}}}});
  BareRing ring;
  std::vector<std::unique_ptr<Submitter>> submitters;
  std::vector<test::Role*> clients, exporters;
  for (std::uint32_t i = 0; i < options.clients; ++i) {
    submitters.push_back(std::make_unique<Submitter>(host, &ring, options, common.seed, i));
    clients.push_back(&submitters.back()->client);
    exporters.push_back(&submitters.back()->exporter);
  }
  test::Role peer("bench-peer", kRoleLimit, [&](test::RoleChannel& channel) {
    return serve_orders(channel, [&](const Order& order) {
      Report report;
      report.end_ns = ring.consume(order.count);
      return report;
    });
  });
  await_ready(peer);

  SubmitRounds rounds(&host, clients, &peer, options.owners);
  const Bound bound{Bound::Kind::at_least, options.rounds.bound};
  const Comparison comparison =
      compare(rounds, options.rounds.rounds, Basis::subject, bound, common.seed);
  clients.push_back(&peer);
  stop_all(clients);
  stop_all(exporters);

  Outcome outcome;
  outcome.correct = rounds.errors_ == 0;
  outcome.figures = {{"owners_per_s", median(comparison.subjects)},
                     {"ring_limit_per_s", median(comparison.limits)},
                     {"ratio", comparison.ratio},
                     {"verified", rounds.verified_},
                     {"errors", rounds.errors_},
                     {"refused", rounds.refused_},
                     {"size", options.size},
                     {"batch", options.batch},
                     {"clients", options.clients},
                     {"transport", options.transport}};
  add_verdict(&outcome.figures, comparison, bound);
  return outcome;
}

}  // namespace

void add_submit(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<SubmitBenchOptions>();
  CLI::App* command =
      add_command(app, common, exit_code, "submit", "Small owners a second, from submit to status",
                  kFormulas, [=] { return run_submit(*common, *options); });
  command->add_option("--transport", options->transport, "Transport")
      ->check(CLI::IsMember({"shm"}))
      ->capture_default_str();
  command->add_option("--clients", options->clients, "Client processes")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Requests of one call")
      ->check(CLI::Range(1, 960))
      ->capture_default_str();
  command->add_option("--outstanding", options->outstanding, "Owners of one client at a time")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  command->add_option("--owners", options->owners, "Of one client in a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_size(command, "--size", &options->size, "Bytes of a request, a multiple of 64")
      ->check(CLI::Range(std::uint64_t{64}, std::uint64_t{16} << 20))
      ->check(multiple_of(64))
      ->capture_default_str();
  add_rounds(command, &options->rounds, "Verdict: owners_per_s at least this");
}

}  // namespace tentq::bench
