// Deaths and cuts. See faults.h.
#include "tests/bench/replay/faults.h"

#include <iterator>
#include <map>
#include <stdexcept>

#include "proto/check.h"
#include "tests/bench/orders.h"

namespace tentq::bench {
namespace {

void restart(Host& host) {
  host.daemon()->kill();
  host.daemon()->start();
}

}  // namespace

void check_faults(const CommonOptions& common, const ReplayOptions& options) {
  const auto need = [](bool have, const char* text) {
    if (!have) throw std::runtime_error(text);
  };
  const bool own = common.socket.empty();
  need(own || options.daemon_kills == 0, "--kill-daemon needs a private daemon");
  need(own || options.policy.empty(), "--policy needs a private daemon");
  need(options.store_daemon_kills == 0 || options.hosts.transport == "tcp",
       "--kill-store-daemon needs --transport tcp; on one host it is --kill-daemon");
  need(options.cut_ns == 0 || options.hosts.namespaces, "--cut-link needs --namespaces");
  need(options.store_kills < options.stores, "--kill-store must leave a Store");
}

void add_fault_options(CLI::App* command, ReplayOptions* options) {
  command
      ->add_option("--kill-daemon", options->daemon_kills,
                   "Kill the engines' daemon and start it again this often; all faults come one "
                   "after the other, evenly spread")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--kill-store-daemon", options->store_daemon_kills,
                   "With tcp: the same with the Stores' daemon")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--kill-store", options->store_kills,
                   "Kill so many Stores; what they held is lost")
      ->check(CLI::Range(0, 31))
      ->capture_default_str();
  command
      ->add_option("--cut-link", options->cut_ns,
                   "With --namespaces: unplug the link between the hosts once, for so long (2s)")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, std::uint64_t>{{"ms", 1'000'000}, {"s", 1'000'000'000}},
          CLI::AsNumberWithUnit::Options(CLI::AsNumberWithUnit::CASE_SENSITIVE |
                                         CLI::AsNumberWithUnit::UNIT_REQUIRED),
          "TIME"));
}

Faults::Faults(Replay& replay, HostPair& hosts) : replay_(replay), hosts_(hosts) {
  const ReplayOptions& options = replay.options;
  faults_.insert(faults_.end(), options.daemon_kills, Fault::kill_daemon);
  faults_.insert(faults_.end(), options.cut_ns == 0 ? 0 : 1, Fault::cut_link);
  faults_.insert(faults_.end(), options.store_daemon_kills, Fault::kill_store_daemon);
  faults_.insert(faults_.end(), options.store_kills, Fault::kill_store);
}

std::string Faults::carry_out(std::list<test::Role>& stores) {
  TENTQ_CHECK(done_ < faults_.size());
  switch (faults_[done_++]) {
    case Fault::kill_daemon: restart(hosts_.clients()); return "daemon killed and started again";
    case Fault::kill_store_daemon:
      restart(hosts_.exporters());
      return "the Stores' daemon killed and started again";
    case Fault::cut_link:
      hosts_.namespaces()->cut(1);
      join_at_ns_ = now_ns() + static_cast<std::int64_t>(replay_.options.cut_ns);
      return "link cut";
    case Fault::kill_store: kill_store(stores); return "a Store killed";
  }
  return {};
}

// What the engines have asked of it already fails; they learn only then.
void Faults::kill_store(std::list<test::Role>& stores) {
  const std::uint32_t store = killed_stores_++;
  test::Role& role = *std::next(stores.begin(), store);
  role.kill();
  role.join(kOrderLimit);
  replay_.directory.retire(store, replay_.options.stores);
}

void Faults::join_if_due(std::int64_t now_ns) {
  if (join_at_ns_ != 0 && now_ns >= join_at_ns_) join();
}

void Faults::join() {
  if (join_at_ns_ == 0) return;
  hosts_.namespaces()->join(1);
  join_at_ns_ = 0;
}

}  // namespace tentq::bench
