// `tentq-bench replay`: a trace of LLM requests through Store and engine processes; this file
// starts them, has faults carried out if asked to, and adds up.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <list>
#include <stdexcept>

#include "tests/bench/commands.h"
#include "tests/bench/orders.h"
#include "tests/bench/replay/faults.h"
#include "tests/bench/replay/lru.h"
#include "tests/bench/replay/roles.h"
#include "tests/bench/replay/setup.h"

namespace tentq::bench {
namespace {

constexpr char kFormulas[] =
    "Store processes hold blocks, engine processes carry out the requests of the trace when they\n"
    "arrive (timestamp / speedup). For each request: blocks that are stored are READ as foreground "
    "in\n"
    "one call and verified; then new ones are WRITTEN as background. A block that another request\n"
    "still writes is waited for. The look-ahead READs stored blocks of the engine's next request "
    "as\n"
    "prefetch and verifies them too; they are READ again at its arrival, so that the foreground's\n"
    "load does not depend on the look-ahead's luck. A block's bytes follow from its id and "
    "--seed.\n"
    "Stores are one LRU of --store-memory; a block in use is never evicted.\n"
    "  requests           carried out\n"
    "  blocks_read        foreground READs that completed; blocks_prefetched, blocks_written: "
    "likewise\n"
    "  blocks_read_vs_lru blocks_read / hits of an exact LRU of the same size over the same "
    "requests\n"
    "  calls              submit calls without repeats\n"
    "  rejected           submits, or owners of them, that were refused for now; retries: repeats\n"
    "  daemon_away        submits that found no daemon; their repeats are no retries\n"
    "  bytes              moved by transfers that completed\n"
    "  verify_errors      blocks READ with wrong bytes\n"
    "  lost               blocks whose transfer ended otherwise than completed; reasons: why, "
    "each\n"
    "                     with its count\n"
    "  fg_p50_us fg_p99_us  of (last block of a READ call completed, by the daemon's clock, which "
    "is\n"
    "                     the host's - before its first submit); exact percentiles by nearest "
    "rank\n"
    "  gb_per_s           bytes / 1e9 / seconds; seconds: start to the end of the last request\n"
    "  late_p99_ms        of (request taken up - its arrival)\n"
    "  outstanding_owners outstanding_bytes  in the daemons at the end\n"
    "  verdict            pass: blocks_read_vs_lru >= 0.95 and retries <= 5 % of the calls";

constexpr double kLeastReadVsLru = 0.95;
constexpr double kMostRetriesPart = 0.05;
constexpr std::chrono::seconds kExtraTime{900};
constexpr std::int64_t kProgressEveryNs = 2'000'000'000;
constexpr std::int64_t kQuietLimitNs = 10'000'000'000;
constexpr int kLookEveryMs = 20;

std::chrono::seconds time_limit(const Replay& replay) {
  const double trace_ms = static_cast<double>(replay.trace.back().timestamp_ms);
  const double speedup = replay.options.speedup;
  const double seconds = speedup > 0 ? trace_ms / speedup / 1e3 : 0;
  return std::chrono::seconds(static_cast<std::int64_t>(std::ceil(seconds))) + kExtraTime;
}

void check_sizes(const ReplayOptions& options, const std::vector<TraceRequest>& trace) {
  if (options.places_per_store() == 0) {
    throw std::runtime_error("--store-memory holds no block in each store");
  }
  std::size_t most = 0;
  for (const TraceRequest& request : trace) most = std::max(most, request.blocks.size());
  if (options.buffers() < most + options.prefetch) {
    throw std::runtime_error("--engine-memory must hold the " + std::to_string(most) +
                             " blocks of the longest request and those of the look-ahead");
  }
}

// All processes of one run, and the watch over them.
class Run {
 public:
  Run(Replay& replay, HostPair& hosts)
      : replay_(replay), faults_(replay, hosts), limit_(time_limit(replay)) {}

  void start();
  void watch();
  void end_work();
  void end_stores();
  std::uint64_t flood_bytes() const { return flood_bytes_; }

 private:
  std::uint64_t finished() const;
  void collect_ended(std::list<test::Role*>* running);
  std::uint64_t part_of_trace(std::uint64_t halves) const;
  void open_requests();
  void have_faults(std::uint64_t done);
  void show(std::uint64_t done, std::int64_t now_ns);

  Replay& replay_;
  Faults faults_;
  const std::chrono::seconds limit_;
  std::list<test::Role> stores_;
  std::list<test::Role> engines_;
  std::list<test::Role> flood_;  // none or one
  std::uint64_t flood_bytes_ = 0;
  std::int64_t shown_ns_ = 0;
};

void Run::start() {
  const ReplayOptions& options = replay_.options;
  for (std::uint32_t i = 0; i < options.stores; ++i) {
    stores_.push_back(start_store(replay_, i, limit_));
  }
  for (test::Role& store : stores_) await_ready(store);
  for (std::uint32_t i = 0; i < options.engines; ++i) {
    engines_.push_back(start_engine(replay_, i, limit_));
  }
  for (test::Role& engine : engines_) await_ready(engine);
  if (options.flood > 0) {
    flood_.push_back(start_flood(replay_, limit_));
    await_ready(flood_.back());
    flood_.back().channel().send(Order{OrderKind::subject, 0, 0});
  }
  open_requests();
  replay_.start_ns[0].store(now_ns(), std::memory_order_release);
  for (test::Role& engine : engines_) engine.channel().send(Order{OrderKind::subject, 0, 0});
}

std::uint64_t Run::finished() const {
  std::uint64_t done = 0;
  for (const EngineTotals& totals : replay_.totals.span()) {
    done += totals.requests.load(std::memory_order_relaxed);
  }
  return done;
}

// Until all engines have reported. Their own alarms bound the time.
void Run::watch() {
  std::list<test::Role*> running;
  for (test::Role& engine : engines_) running.push_back(&engine);
  while (!running.empty()) {
    collect_ended(&running);
    const std::uint64_t done = finished();
    have_faults(done);
    show(done, now_ns());
  }
  faults_.join();
}

void Run::collect_ended(std::list<test::Role*>* running) {
  std::vector<pollfd> fds;
  for (test::Role* role : *running) fds.push_back({role->channel().fd(), POLLIN, 0});
  ::poll(fds.data(), fds.size(), kLookEveryMs);
  std::size_t i = 0;
  running->remove_if([&](test::Role* role) {
    if (fds[i++].revents == 0) return false;
    const auto report = role->channel().receive<Report>(std::chrono::milliseconds{0});
    if (!report) throw std::runtime_error(role->name() + ": ended without a report");
    if (!report->ok) {
      throw std::runtime_error(role->name() + ": " + std::string(report->text.view()));
    }
    return true;
  });
}

// Requests before this many halves of the stretch between two faults, which come evenly.
std::uint64_t Run::part_of_trace(std::uint64_t halves) const {
  return replay_.trace.size() * halves / (2 * (faults_.count() + 1));
}

// Up to half a stretch behind the fault that comes next: the requests before it are enough for
// that fault to become due.
void Run::open_requests() {
  const bool last = faults_.done() == faults_.count();
  const std::uint64_t until = last ? replay_.trace.size() : part_of_trace(2 * faults_.done() + 3);
  replay_.open_until[0].store(until, std::memory_order_release);
  for (std::uint32_t i = 0; i < replay_.options.engines; ++i) nudge(replay_, i);
}

void Run::have_faults(std::uint64_t done) {
  faults_.join_if_due(now_ns());
  if (faults_.done() == faults_.count()) return;
  if (done < part_of_trace(2 * faults_.done() + 2)) return;
  const std::string what = faults_.carry_out(stores_);
  open_requests();
  if (!replay_.options.quiet) {
    std::fprintf(stderr, "replay: %s (%zu of %zu)\n", what.c_str(), faults_.done(),
                 faults_.count());
  }
}

void Run::show(std::uint64_t done, std::int64_t now_ns) {
  if (replay_.options.quiet || now_ns - shown_ns_ < kProgressEveryNs) return;
  shown_ns_ = now_ns;
  std::fprintf(stderr, "replay: %llu of %zu requests, %.1f s\n",
               static_cast<unsigned long long>(done), replay_.trace.size(),
               static_cast<double>(now_ns - replay_.start_ns[0].load()) / 1e9);
}

// The flood and the engines. The Stores stay until the daemon was asked what is left.
void Run::end_work() {
  for (test::Role& flood : flood_) {
    flood.channel().send(Order{});
    const auto report = flood.channel().receive<Report>(kOrderLimit);
    if (!report || !report->ok) throw std::runtime_error("flood: failed");
    flood_bytes_ = report->count;
    flood.join(kOrderLimit);
  }
  std::vector<test::Role*> engines;
  for (test::Role& engine : engines_) engines.push_back(&engine);
  stop_all(engines);
}

void Run::end_stores() {
  std::vector<test::Role*> stores;
  for (test::Role& store : stores_) stores.push_back(&store);
  stop_all(stores);
}

struct Outstanding {
  std::uint64_t owners = 0;
  std::uint64_t bytes = 0;
  bool nothing() const { return owners == 0 && bytes == 0; }
};

// What the daemons have outstanding, once it is nothing or the time is over.
Outstanding outstanding_at_end(const HostPair& hosts) {
  const std::int64_t until = now_ns() + kQuietLimitNs;
  for (;;) {
    Outstanding all;
    for (const Host* host : {&hosts.clients(), &hosts.exporters()}) {
      const nlohmann::json outstanding = host->status().at("outstanding");
      all.owners += outstanding.at("owners").get<std::uint64_t>();
      all.bytes += outstanding.at("bytes").get<std::uint64_t>();
    }
    if (all.nothing() || now_ns() > until) return all;
    ::poll(nullptr, 0, kLookEveryMs);
  }
}

// limits.route_budget by default: for so long owners wait for a host that is away.
constexpr std::uint64_t kRouteBudgetNs = 5'000'000'000;

// How many blocks were lost, by reason. A Store that was killed is lost to the engines, and so is
// what is cut off for longer than owners wait; nothing else explains a loss.
struct Losses {
  Json by_reason = Json::object();
  bool explained = true;
};

Losses losses_of(const Replay& replay) {
  Losses losses;
  for (std::size_t i = 0; i < kReasons; ++i) {
    std::uint64_t count = 0;
    for (const EngineTotals& totals : replay.totals.span()) count += totals.reasons[i];
    if (count == 0) continue;
    const auto reason = static_cast<TaskReason>(i);
    losses.by_reason[std::string(to_string(reason))] = count;
    const bool lost = reason == TaskReason::peer_lost;
    const bool by_death =
        replay.options.store_kills > 0 && (lost || reason == TaskReason::stale_handle);
    const bool by_cut = replay.options.cut_ns >= kRouteBudgetNs && lost;
    losses.explained = losses.explained && (by_death || by_cut);
  }
  for (const EngineTotals& totals : replay.totals.span()) {
    losses.explained = losses.explained && totals.given_up == 0;
  }
  return losses;
}

std::vector<double> samples_of(std::span<const double> all) {
  std::vector<double> samples;
  std::copy_if(all.begin(), all.end(), std::back_inserter(samples),
               [](double sample) { return sample != kNoSample; });
  std::sort(samples.begin(), samples.end());
  return samples;
}

Json add_up(const Replay& replay, const LruTotals& lru) {
  std::uint64_t requests = 0, read = 0, prefetched = 0, written = 0, skipped = 0, bytes = 0;
  std::uint64_t errors = 0, calls = 0, rejected = 0, retries = 0, away = 0, lost = 0;
  std::int64_t last_ns = 0;
  for (const EngineTotals& totals : replay.totals.span()) {
    requests += totals.requests.load();
    read += totals.blocks_read;
    prefetched += totals.blocks_prefetched;
    written += totals.blocks_written;
    skipped += totals.blocks_skipped;
    bytes += totals.bytes;
    errors += totals.verify_errors;
    calls += totals.calls;
    rejected += totals.rejected;
    retries += totals.retries;
    away += totals.away;
    lost += totals.lost;
    last_ns = std::max(last_ns, totals.last_ns);
  }
  const double seconds = static_cast<double>(last_ns - replay.start_ns[0].load()) / 1e9;
  const std::vector<double> foreground = samples_of(replay.foreground_us.span());
  const double read_vs_lru =
      lru.hits == 0 ? 1 : static_cast<double>(read) / static_cast<double>(lru.hits);
  const bool few_retries =
      static_cast<double>(retries) <= kMostRetriesPart * static_cast<double>(calls);
  return {{"requests", requests},
          {"blocks_read", read},
          {"blocks_written", written},
          {"blocks_prefetched", prefetched},
          {"blocks_skipped", skipped},
          {"blocks_read_vs_lru", read_vs_lru},
          {"calls", calls},
          {"rejected", rejected},
          {"retries", retries},
          {"daemon_away", away},
          {"bytes", bytes},
          {"verify_errors", errors},
          {"lost", lost},
          {"fg_p50_us", percentile_of_sorted(foreground, 0.5)},
          {"fg_p99_us", percentile_of_sorted(foreground, 0.99)},
          {"fg_samples", foreground.size()},
          {"gb_per_s", static_cast<double>(bytes) / 1e9 / seconds},
          {"seconds", seconds},
          {"late_p99_ms", percentile(replay.late_us.span(), 0.99) / 1e3},
          {"verdict", read_vs_lru >= kLeastReadVsLru && few_retries ? "pass" : "fail"}};
}

Outcome run_replay(const CommonOptions& common, const ReplayOptions& options) {
  std::vector<TraceRequest> trace = read_trace_file(options.trace, options.requests);
  check_sizes(options, trace);
  check_faults(common, options);
  const LruTotals lru = exact_lru(trace, options.places_per_store() * options.stores);
  nlohmann::json config = nlohmann::json::object();
  if (!options.policy.empty()) config["policy"] = options.policy;
  HostPair hosts(common, options.hosts, config);
  Replay replay(options, std::move(trace), common.seed);
  replay.socket = hosts.client_socket();
  replay.store_socket = hosts.exporter_socket();
  replay.prefix = hosts.segment("");

  Run run(replay, hosts);
  run.start();
  run.watch();
  run.end_work();
  const Outstanding outstanding = outstanding_at_end(hosts);
  const Losses losses = losses_of(replay);
  run.end_stores();
  replay.directory.check_invariants();

  Outcome outcome;
  outcome.figures = add_up(replay, lru);
  outcome.figures["reasons"] = losses.by_reason;
  outcome.figures["outstanding_owners"] = outstanding.owners;
  outcome.figures["outstanding_bytes"] = outstanding.bytes;
  outcome.figures["daemon_kills"] = options.daemon_kills;
  outcome.figures["store_daemon_kills"] = options.store_daemon_kills;
  outcome.figures["store_kills"] = options.store_kills;
  outcome.figures["cut_s"] = static_cast<double>(options.cut_ns) / 1e9;
  outcome.figures["transport"] = options.hosts.transport;
  outcome.figures["namespaces"] = options.hosts.namespaces;
  if (options.flood > 0) outcome.figures["flood_bytes"] = run.flood_bytes();
  outcome.correct = outcome.figures["verify_errors"] == 0 && losses.explained &&
                    outcome.figures["requests"] == replay.trace.size() && outstanding.nothing();
  return outcome;
}

void add_options(CLI::App* command, ReplayOptions* options) {
  add_host_choice(command, &options->hosts);
  command->add_option("--trace", options->trace, "File of requests, one JSON object a line")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--requests", options->requests, "Only the first ones; 0: all")
      ->capture_default_str();
  command
      ->add_option("--speedup", options->speedup,
                   "Times as fast as the timestamps; 0: as fast as possible")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--stores", options->stores, "Store processes")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  command->add_option("--engines", options->engines, "Engine processes")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  add_size(command, "--block", &options->block, "Bytes of a block, a multiple of 4096")
      ->check(CLI::Range(std::uint64_t{4096}, std::uint64_t{64} << 20))
      ->check(multiple_of(4096))
      ->capture_default_str();
  add_size(command, "--store-memory", &options->store_memory, "Memory of all Stores together")
      ->capture_default_str();
  add_size(command, "--engine-memory", &options->engine_memory, "Buffers of each engine")
      ->capture_default_str();
  command->add_option("--prefetch", options->prefetch, "Blocks of the next request read ahead")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--policy", options->policy, "Policy of the private daemon")
      ->check(CLI::IsMember({"direct", "fifo", "strict", "wdrr"}));
  add_fault_options(command, options);
  add_size(command, "--flood", &options->flood,
           "Another process keeps this many bytes outstanding as background")
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "No progress on standard error");
}

}  // namespace

void add_replay(CLI::App& app, CommonOptions* common, int* exit_code) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = add_command(app, common, exit_code, "replay",
                                  "Replay a trace of LLM requests through Stores and engines",
                                  kFormulas, [=] { return run_replay(*common, *options); });
  add_options(command, options.get());
}

}  // namespace tentq::bench
