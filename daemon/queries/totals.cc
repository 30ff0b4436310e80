// `status`, `queue` and `errors`: the host's totals.
#include <algorithm>
#include <array>
#include <cstdio>

#include "daemon/metrics/latencies.h"
#include "daemon/queries/answers.h"

namespace tentq::answers {
namespace {

Json amounts_json(const core::Amounts& amounts) {
  return {{"owners", amounts.owners}, {"bytes", amounts.bytes}, {"extents", amounts.extents}};
}

Json class_json(const core::ClassTotals& totals, Time now) {
  return {{"depth", totals.queued_owners},
          {"bytes", totals.queued_bytes},
          {"in_flight", totals.in_flight_owners},
          {"in_flight_bytes", totals.in_flight_bytes},
          {"route_pending", totals.route_pending_owners},
          {"draining", totals.draining_owners},
          {"oldest_age_ns", age_ns(totals.oldest_enqueued, now)}};
}

void add(const core::ClassTotals& more, core::ClassTotals* sum) {
  sum->queued_owners += more.queued_owners;
  sum->queued_bytes += more.queued_bytes;
  sum->in_flight_owners += more.in_flight_owners;
  sum->in_flight_bytes += more.in_flight_bytes;
  sum->route_pending_owners += more.route_pending_owners;
  sum->draining_owners += more.draining_owners;
  sum->oldest_enqueued = std::min(sum->oldest_enqueued, more.oldest_enqueued);
}

// The transports that lanes exist on, each with its lanes.
Json transports_json(const std::vector<LaneView>& lanes, const DaemonView& daemon) {
  Json out = Json::array();
  for (const LaneView& lane : lanes) {
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const Json& row) { return row["name"] == lane.transport; });
    Json& row = known != out.end() ? *known : out.emplace_back(Json{{"name", lane.transport}});
    row["lanes"].push_back(lane.name);
    if (lane.transport != "shm") continue;
    row["workers"] = daemon.shm_workers;
    if (daemon.shm_paced_bytes_per_second != 0) {
      row["paced_bytes_per_second"] = daemon.shm_paced_bytes_per_second;
    }
  }
  return out;
}

Json counters_json(const core::Counters& counters) {
  Json rejected = Json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counters.rejected.size(); ++i) {
    if (counters.rejected[i] == 0) continue;
    rejected[std::string(to_string(static_cast<Reason>(i)))] = counters.rejected[i];
    total += counters.rejected[i];
  }
  return {{"enqueued", counters.enqueued},
          {"completed", counters.completed},
          {"failed", counters.failed},
          {"timed_out", counters.timed_out},
          {"canceled", counters.canceled},
          {"rejected", total},
          {"rejected_by_reason", std::move(rejected)},
          {"dispatched_chunks", counters.dispatched_chunks},
          {"transferred_bytes", counters.transferred_bytes},
          {"requeues", counters.requeues},
          {"stale_completions", counters.stale_completions},
          {"admitted_unmeetable", counters.admitted_unmeetable},
          {"internal_reserve_exhausted", counters.internal_reserve_exhausted}};
}

Json limits_json(const core::Limits& limits) {
  return {{"host", amounts_json(limits.host)},
          {"client", amounts_json(limits.client)},
          {"internal_reserve", amounts_json(limits.internal_reserve)},
          {"largest_owner_bytes", limits.largest_owner_bytes},
          {"largest_call_owners", limits.largest_call_owners}};
}

// Upper bounds of the quantiles, a quarter too high at most.
Json quantiles_json(const Histogram& histogram) {
  return {{"owners", histogram.total()},
          {"p50_ns", histogram.quantile_ns(500)},
          {"p99_ns", histogram.quantile_ns(990)}};
}

Json latencies_json(const Latencies& latencies) {
  Json classes = Json::object();
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const ClassLatencies& of = latencies.of(static_cast<ClassId>(c));
    classes[std::string(kClassNames[c])] = {{"wait", quantiles_json(of.wait)},
                                            {"transport", quantiles_json(of.transport)}};
  }
  return classes;
}

Json queue_clients(const Question& question) {
  Json rows = Json::array();
  for (const ClientView& client : question.inspection.clients()) {
    if (!question.may_see(client)) continue;
    rows.push_back({{"client", client.id.value()},
                    {"name", client.name},
                    {"uid", client.uid},
                    {"quota", client.quota.name},
                    {"depth", client.totals.queued_owners},
                    {"in_flight", client.totals.in_flight_owners},
                    {"outstanding_owners", client.totals.outstanding.owners},
                    {"outstanding_bytes", client.totals.outstanding.bytes},
                    {"outstanding_extents", client.totals.outstanding.extents}});
  }
  return rows;
}

Json amounts_of(const core::LaneTotals& totals) {
  return {{"depth", totals.queued_owners},
          {"bytes", totals.queued_bytes},
          {"in_flight_chunks", totals.in_flight_chunks},
          {"in_flight_bytes", totals.in_flight_bytes}};
}

Json queue_lanes(const Question& question) {
  Json rows = Json::array();
  for (const LaneView& lane : question.inspection.lanes()) {
    Json row = amounts_of(lane.totals);
    row["lane"] = lane.name;
    rows.push_back(std::move(row));
  }
  return rows;
}

void add(const core::LaneTotals& lane, core::LaneTotals* sum) {
  sum->queued_owners += lane.queued_owners;
  sum->queued_bytes += lane.queued_bytes;
  sum->in_flight_chunks += lane.in_flight_chunks;
  sum->in_flight_bytes += lane.in_flight_bytes;
}

// What goes between two hosts, whoever asked for it; and what stays on this one.
Json queue_peers(const Question& question) {
  core::LaneTotals here;
  for (const LaneView& lane : question.inspection.lanes()) {
    if (lane.transport == "shm") add(lane.totals, &here);
  }
  Json own = amounts_of(here);
  own["peer"] = "this host";
  own["host"] = nullptr;
  own["away"] = false;
  Json rows = Json::array({std::move(own)});
  for (const PeerView& peer : question.inspection.peers()) {
    core::LaneTotals all;
    for (const core::LaneTotals& lane : {peer.read, peer.write, peer.serve}) add(lane, &all);
    Json row = amounts_of(all);
    row["peer"] = peer.address;
    row["host"] = peer.host;
    row["away"] = peer.away;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Null: there is no directory.
Json directory_json(const std::optional<DirectoryView>& directory) {
  if (!directory) return nullptr;
  return {{"state", directory->state},
          {"endpoints", directory->endpoints},
          {"last_failure", directory->last_failure},
          {"published", directory->published},
          {"taken", directory->taken},
          {"known", directory->known},
          {"failures", directory->failures}};
}

}  // namespace

QueryAnswer status(const Question& question) {
  const DaemonView daemon = question.inspection.daemon();
  const core::Core& core = question.inspection.core();
  char random[17];
  std::snprintf(random, sizeof(random), "%016llx",
                static_cast<unsigned long long>(daemon.epoch_random));
  core::ClassTotals queued;
  for (std::size_t c = 0; c < kClassCount; ++c)
    add(core.class_totals(static_cast<ClassId>(c)), &queued);
  return document({
      {"version", daemon.version},
      {"pid", daemon.pid},
      {"state", daemon_state_name(daemon.state)},
      {"epoch", {{"counter", daemon.epoch_counter}, {"random", random}}},
      {"uptime_seconds", seconds(daemon.uptime)},
      {"policy", policy_name(core.policy())},
      {"sessions", daemon.sessions},
      {"regions", daemon.regions},
      {"registered_bytes", daemon.registered_bytes},
      {"outstanding", amounts_json(core.outstanding())},
      {"queue", class_json(queued, question.now)},
      {"limits", limits_json(core.limits())},
      {"counters", counters_json(core.counters())},
      {"latency", latencies_json(*daemon.latencies)},
      {"transports", transports_json(question.inspection.lanes(), daemon)},
      {"reaped_clients", daemon.reaped_clients},
      {"refused_attaches", daemon.refused_attaches},
      {"missed_wakeups", daemon.missed_wakeups},
      {"downgraded_owners", daemon.downgraded_owners},
      {"metrics", daemon.metrics.empty() ? Json() : Json(daemon.metrics)},
      {"peers", daemon.peers.empty() ? Json() : Json(daemon.peers)},
      {"directory", directory_json(daemon.directory)},
      {"turns", daemon.turns},
      {"sleeps", daemon.sleeps},
      {"distinct_errors", question.errors.size()},
      {"errors", question.errors.total()},
      {"warnings", daemon.warnings},
  });
}

QueryAnswer queue(const Question& question) {
  const std::string_view by = question.argument("by");
  Json classes = Json::object();
  core::ClassTotals total;
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const core::ClassTotals totals =
        question.inspection.core().class_totals(static_cast<ClassId>(c));
    classes[std::string(kClassNames[c])] = class_json(totals, question.now);
    add(totals, &total);
  }
  Json json = {{"classes", std::move(classes)}, {"total", class_json(total, question.now)}};
  if (by == "client") {
    json["clients"] = queue_clients(question);
  } else if (by == "lane") {
    json["lanes"] = queue_lanes(question);
  } else if (by == "peer") {
    json["peers"] = queue_peers(question);
  } else if (!by.empty()) {
    return refusal(StatusCode::invalid_argument, "by= takes client, lane or peer");
  }
  return document(json);
}

QueryAnswer errors(const Question& question) {
  Json rows = Json::array();
  constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
  for (const BookedError& error : question.errors.errors()) {
    rows.push_back({{"cause", error.cause},
                    {"level", kLevels[static_cast<std::size_t>(error.level)]},
                    {"count", error.count},
                    {"first_age_ns", age_ns(error.first, question.now)},
                    {"last_age_ns", age_ns(error.last, question.now)},
                    {"text", error.text},
                    {"remedy", error.remedy}});
  }
  return document({{"errors", std::move(rows)}, {"total", question.errors.total()}});
}

}  // namespace tentq::answers
