// See stage.h.
#include "tests/bench/qos/stage.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "daemon/settings.h"
#include "tests/bench/clock.h"
#include "tests/support/query.h"

namespace tentq::bench::qos {
namespace {

constexpr std::int64_t kPatienceNs = 60'000'000'000;
constexpr int kLookEveryMs = 5;

nlohmann::json config_of(const QosOptions& options) {
  nlohmann::json config = {{"socket_mode", "0666"}};
  if (options.lane == "paced") config["shm"]["paced_bytes_per_second"] = options.rate;
  return config;
}

template <class Done>
void await(const char* what, Done done) {
  const std::int64_t until = now_ns() + kPatienceNs;
  while (!done()) {
    if (now_ns() > until) throw std::runtime_error(std::string(what) + " took over a minute");
    ::poll(nullptr, 0, kLookEveryMs);
  }
}

Report collect(test::Role& role) {
  const auto report = role.channel().receive<Report>(kOrderLimit);
  if (!report) throw std::runtime_error(role.name() + ": ended or gave no answer in time");
  if (!report->ok) throw std::runtime_error(role.name() + ": " + std::string(report->text.view()));
  return *report;
}

std::vector<test::Role*> pointers(std::list<test::Role>& roles) {
  std::vector<test::Role*> all;
  for (test::Role& role : roles) all.push_back(&role);
  return all;
}

}  // namespace

Stage::Stage(const CommonOptions& common, Setup* setup)
    : host_(common, config_of(setup->options)), settings_(setup->options.settings) {
  setup->socket = host_.socket();
  // Clients of other users are to reach the socket.
  if (::chmod(host_.daemon()->directory().c_str(), 0711) != 0) {
    throw std::runtime_error("cannot open the daemon's directory to other users");
  }
  source_.push_back(start_source(*setup));
  await_ready(source_.back());
}

Stage::~Stage() {
  for (test::Role& role : source_) role.channel().send(Order{});
}

void Stage::set(const std::string& key, const std::string& value) {
  test::command(host_.daemon()->admin_socket(), CommandKind::set, key + "=" + value);
}

void Stage::configure() {
  const Settings began;
  set("shm.window_bytes", std::to_string(began.shm.window_bytes));
  set("shm.adaptive", began.shm.window.adaptive ? "true" : "false");
  for (const std::string& setting : settings_) {
    test::command(host_.daemon()->admin_socket(), CommandKind::set, setting);
  }
}

nlohmann::json Stage::lane() const {
  const nlohmann::json answer = test::query(host_.socket(), QueryKind::lanes);
  for (const nlohmann::json& row : answer.at("lanes")) {
    if (row.at("lane") == "shm read") return row;
  }
  throw std::runtime_error("the daemon has no lane \"shm read\"");
}

nlohmann::json Stage::clients() {
  return test::query(host_.daemon()->admin_socket(), QueryKind::clients)["clients"];
}

std::uint64_t Stage::outstanding_bytes() const {
  return status().at("outstanding").at("bytes").get<std::uint64_t>();
}

std::uint64_t Stage::transferred_bytes() const {
  return status().at("counters").at("transferred_bytes").get<std::uint64_t>();
}

void Stage::await_outstanding(std::uint64_t least_bytes) const {
  await("filling the queue", [&] { return outstanding_bytes() >= least_bytes; });
}

void Stage::await_quiet() const {
  await("draining", [&] { return outstanding_bytes() == 0; });
}

void let_run(double milliseconds) {
  ::poll(nullptr, 0, static_cast<int>(milliseconds));
}

Bulk::Bulk(const Setup& setup, std::span<const BulkSpec> specs)
    : setup_(setup), specs_(specs.begin(), specs.end()) {
  for (std::uint32_t i = 0; i < specs_.size(); ++i) {
    specs_[i].number = i;
    setup_.counters[i].bytes = 0;
    setup_.counters[i].errors = 0;
    roles_.push_back(start_bulk(setup, specs_[i]));
  }
  for (test::Role& role : roles_) await_ready(role);
}

void Bulk::begin() {
  for (test::Role& role : roles_) {
    if (!role.channel().send(Order{OrderKind::subject, 0, 0})) {
      throw std::runtime_error(role.name() + ": ended");
    }
  }
}

// The order that ends the flood is answered too.
void Bulk::end() {
  for (test::Role& role : roles_) role.channel().send(Order{OrderKind::limit, 0, 0});
  for (test::Role& role : roles_) {
    collect(role);
    collect(role);
  }
}

std::vector<double> Bulk::bytes() const {
  std::vector<double> all;
  for (std::uint32_t i = 0; i < specs_.size(); ++i) {
    all.push_back(static_cast<double>(setup_.counters[i].bytes.load()));
  }
  return all;
}

std::uint64_t Bulk::errors() const {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < specs_.size(); ++i) all += setup_.counters[i].errors.load();
  return all;
}

std::uint64_t Bulk::outstanding_bytes() const {
  std::uint64_t all = 0;
  for (const BulkSpec& spec : specs_) {
    all +=
        std::uint64_t{std::max(spec.depth / spec.sessions, 1u)} * spec.sessions * spec.owner_bytes;
  }
  return all;
}

void Bulk::stop() {
  stop_all(pointers(roles_));
}

void Bulk::kill_first() {
  roles_.front().kill();
  roles_.front().join(kOrderLimit);
  roles_.pop_front();
}

std::vector<BulkSpec> flood_of(const Setup& setup) {
  std::vector<BulkSpec> specs;
  for (std::uint32_t i = 0; i < setup.options.flood_clients; ++i) {
    BulkSpec spec;
    spec.name = "flood-" + std::to_string(i);
    spec.owner_bytes = setup.options.owner;
    spec.depth = setup.options.flood_depth();
    if (can_be_several_users()) spec.uid = uid_of_client(i);
    specs.push_back(spec);
  }
  return specs;
}

ForegroundGroup::ForegroundGroup(const Setup& setup) {
  for (std::uint32_t i = 0; i < setup.options.foreground_clients; ++i) {
    std::optional<uid_t> uid;
    if (can_be_several_users()) uid = uid_of_client(kMostBulkClients + i);
    roles_.push_back(start_foreground(setup, i, uid));
  }
  for (test::Role& role : roles_) await_ready(role);
}

std::vector<Report> ForegroundGroup::run(const std::function<void()>& meanwhile, int every_ms) {
  for (test::Role& role : roles_) {
    if (!role.channel().send(Order{OrderKind::subject, 0, 0})) {
      throw std::runtime_error(role.name() + ": ended");
    }
  }
  std::vector<Report> reports;
  for (test::Role& role : roles_) {
    pollfd entry = {role.channel().fd(), POLLIN, 0};
    while (::poll(&entry, 1, every_ms) == 0) meanwhile();
    reports.push_back(collect(role));
  }
  return reports;
}

void ForegroundGroup::stop() {
  stop_all(pointers(roles_));
}

}  // namespace tentq::bench::qos
