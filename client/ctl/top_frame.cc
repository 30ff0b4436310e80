// One frame of `top` out of one or two pictures of the status page.
#include <nlohmann/json.hpp>

#include "client/ctl/table.h"
#include "client/ctl/top.h"

namespace tentq::ctl {
namespace {

using Kind = Column::Kind;

std::string_view state_name(std::uint32_t state) {
  switch (static_cast<DaemonState>(state)) {
    case DaemonState::starting: return "starting";
    case DaemonState::running: return "running";
    case DaemonState::draining: return "draining";
    case DaemonState::restarting: return "restarting";
    case DaemonState::quarantined: return "quarantined";
  }
  return "unknown";
}

std::string_view liveness_name(Liveness liveness) {
  switch (liveness) {
    case Liveness::alive: return "alive";
    case Liveness::silent: return "silent";
    case Liveness::ended: return "ended";
    case Liveness::other_clock: return "other_clock";
  }
  return "unknown";
}

std::uint64_t ns_between(Time earlier, Time later) {
  return later <= earlier ? 0 : static_cast<std::uint64_t>((later - earlier).count());
}

std::string class_name(std::size_t cls) {
  return cls < kClassCount ? std::string(kClassNames[cls]) : "class " + std::to_string(cls);
}

std::string liveness_line(const StatusPicture& picture, Time now, Liveness liveness,
                          bool terminal) {
  const std::string age = age_text(ns_between(picture.heartbeat, now));
  switch (liveness) {
    case Liveness::alive: return {};
    case Liveness::silent:
      return tinted("no heartbeat for " + age + ": the daemon hangs or is stopped", Tint::bad,
                    terminal) +
             '\n';
    case Liveness::ended:
      return tinted("the daemon has ended; its last heartbeat was " + age + " ago", Tint::bad,
                    terminal) +
             '\n';
    case Liveness::other_clock:
      return tinted("the page's clock is ahead of ours: another boot or time namespace", Tint::warn,
                    terminal) +
             '\n';
  }
  return {};
}

// Per second, between two pictures of the same daemon.
class Rates {
 public:
  Rates(const StatusPicture& now, const StatusPicture* before) {
    if (before == nullptr || before->inode != now.inode) return;
    const std::int64_t ns = now.body->updated_ns - before->body->updated_ns;
    if (ns <= 0) return;
    seconds_ = static_cast<double>(ns) / 1e9;
    before_ = before->body.get();
    now_ = now.body.get();
  }
  bool known() const { return before_ != nullptr; }
  std::uint64_t of(std::uint64_t StatusPageBody::*counter) const {
    const std::uint64_t more = now_->*counter - before_->*counter;
    return static_cast<std::uint64_t>(static_cast<double>(more) / seconds_);
  }

 private:
  const StatusPageBody* before_ = nullptr;
  const StatusPageBody* now_ = nullptr;
  double seconds_ = 1;
};

std::string rates_text(const StatusPageBody& body, const Rates& rates) {
  std::uint64_t rejected = 0;
  for (const std::uint64_t count : body.rejected) rejected += count;
  std::string out =
      "ended  " + count_text(body.completed) + " completed, " + count_text(body.failed) +
      " failed, " + count_text(body.timed_out) + " timed out, " + count_text(body.canceled) +
      " canceled, " + count_text(rejected) + " rejected\n" + "moved  " +
      bytes_text(body.transferred_bytes) + " in " + count_text(body.dispatched_chunks) + " chunks";
  if (rates.known()) {
    out += "; now " + bytes_text(rates.of(&StatusPageBody::transferred_bytes)) + "/s, " +
           count_text(rates.of(&StatusPageBody::completed)) + " owners/s, " +
           count_text(rates.of(&StatusPageBody::turns)) + " turns/s";
  }
  return out + '\n';
}

std::string classes_text(const StatusPageBody& body, bool terminal) {
  Table table({{"class", Kind::text},
               {"depth"},
               {"bytes"},
               {"oldest"},
               {"in flight"},
               {"bytes"},
               {"routing"},
               {"draining"}});
  for (std::size_t c = 0; c < body.class_count; ++c) {
    const StatusPageClass& row = body.classes[c];
    table.row({class_name(c), count_text(row.depth), bytes_text(row.bytes),
               age_text(row.oldest_age_ns), count_text(row.in_flight),
               bytes_text(row.in_flight_bytes), count_text(row.route_pending),
               count_text(row.draining)});
  }
  return table.text(terminal);
}

std::string lanes_text(const StatusPageBody& body, bool terminal) {
  Table table({{"lane", Kind::text},
               {"queued"},
               {"bytes"},
               {"in flight"},
               {"window"},
               {"chunks"},
               {"of"},
               {"chunk size"}});
  for (std::size_t i = 0; i < body.lane_count; ++i) {
    const StatusPageLane& row = body.lanes[i];
    table.row({std::string(row.name.view()), count_text(row.queued_owners),
               bytes_text(row.queued_bytes), bytes_text(row.in_flight_bytes),
               bytes_text(row.window_bytes), count_text(row.in_flight_chunks),
               count_text(row.window_chunks), bytes_text(row.chunk_bytes)});
  }
  return table.empty() ? std::string() : '\n' + table.text(terminal);
}

// The latest five, latest first.
std::string errors_text(const StatusPageBody& body, Time now, bool terminal) {
  constexpr std::size_t kShown = 5;
  std::string out;
  for (std::size_t i = 0; i < body.error_count && i < kShown; ++i) {
    const StatusPageError& error = body.errors[body.error_count - 1 - i];
    const std::string age = age_text(ns_between(time_from_ns(error.last_ns), now));
    const std::string line = printable(error.cause.view()) + "  " + count_text(error.count) +
                             "x, " + age + " ago: " + printable(error.text.view());
    out +=
        tinted(cut(line, kMostColumns), error.level >= 3 ? Tint::bad : Tint::warn, terminal) + '\n';
  }
  if (out.empty()) return out;
  const std::string head = count_text(body.errors_total) + " distinct errors";
  return '\n' + tinted(head, Tint::bold, terminal) + '\n' + out;
}

}  // namespace

std::string draw_top(const StatusPicture& picture, const StatusPicture* before, Time now,
                     bool process_exists, bool terminal) {
  const StatusPageBody& body = *picture.body;
  const Liveness liveness = judge_liveness(picture, now, process_exists);
  const std::string state(state_name(body.state));
  const std::string head = "tentqd " + printable(body.version.view()) + "  pid " +
                           std::to_string(body.pid) + "  " + state + "  up " +
                           age_text(ns_between(time_from_ns(body.started_ns), now)) + "  policy " +
                           printable(body.policy.view());
  std::string out = tinted(cut(head, kMostColumns), Tint::bold, terminal) + '\n';
  out += liveness_line(picture, now, liveness, terminal);
  out += "serves " + count_text(body.sessions) + " sessions, " + bytes_text(body.registered_bytes) +
         " in " + count_text(body.regions) + " regions, " + count_text(body.shm_workers) +
         " shm workers, " + count_text(body.missed_wakeups) + " missed wake-ups\n";
  out += rates_text(body, Rates(picture, before)) + '\n';
  out += classes_text(body, terminal) + lanes_text(body, terminal);
  return out + errors_text(body, now, terminal);
}

std::string top_json(const StatusPicture& picture, Time now, bool process_exists) {
  using Json = nlohmann::ordered_json;
  const StatusPageBody& body = *picture.body;
  Json classes = Json::object();
  for (std::size_t c = 0; c < body.class_count; ++c) {
    const StatusPageClass& row = body.classes[c];
    classes[class_name(c)] = {{"depth", row.depth},
                              {"bytes", row.bytes},
                              {"in_flight", row.in_flight},
                              {"in_flight_bytes", row.in_flight_bytes},
                              {"route_pending", row.route_pending},
                              {"draining", row.draining},
                              {"oldest_age_ns", row.oldest_age_ns}};
  }
  Json lanes = Json::array();
  for (std::size_t i = 0; i < body.lane_count; ++i) {
    const StatusPageLane& row = body.lanes[i];
    lanes.push_back({{"lane", row.name.view()},
                     {"transport", row.transport.view()},
                     {"depth", row.queued_owners},
                     {"bytes", row.queued_bytes},
                     {"in_flight_bytes", row.in_flight_bytes},
                     {"window_bytes", row.window_bytes},
                     {"in_flight_chunks", row.in_flight_chunks},
                     {"window_chunks", row.window_chunks},
                     {"chunk_bytes", row.chunk_bytes}});
  }
  Json errors = Json::array();
  for (std::size_t i = 0; i < body.error_count; ++i) {
    const StatusPageError& row = body.errors[i];
    errors.push_back({{"cause", row.cause.view()},
                      {"count", row.count},
                      {"last_age_ns", ns_between(time_from_ns(row.last_ns), now)},
                      {"text", row.text.view()},
                      {"remedy", row.remedy.view()}});
  }
  std::uint64_t rejected = 0;
  for (const std::uint64_t count : body.rejected) rejected += count;
  const Json json = {
      {"liveness", liveness_name(judge_liveness(picture, now, process_exists))},
      {"heartbeat_age_ns", ns_between(picture.heartbeat, now)},
      {"page_age_ns", ns_between(time_from_ns(body.updated_ns), now)},
      {"version", body.version.view()},
      {"pid", body.pid},
      {"state", state_name(body.state)},
      {"epoch_counter", body.epoch_counter},
      {"policy", body.policy.view()},
      {"uptime_seconds", static_cast<double>(ns_between(time_from_ns(body.started_ns), now)) / 1e9},
      {"sessions", body.sessions},
      {"regions", body.regions},
      {"registered_bytes", body.registered_bytes},
      {"completed", body.completed},
      {"failed", body.failed},
      {"timed_out", body.timed_out},
      {"canceled", body.canceled},
      {"rejected", rejected},
      {"transferred_bytes", body.transferred_bytes},
      {"dispatched_chunks", body.dispatched_chunks},
      {"missed_wakeups", body.missed_wakeups},
      {"classes", std::move(classes)},
      {"lanes", std::move(lanes)},
      {"errors", std::move(errors)},
      {"distinct_errors", body.errors_total}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tentq::ctl
