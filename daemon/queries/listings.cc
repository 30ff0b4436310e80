// `clients`, `segments`, `lanes` and `peers`: one row each.
#include <cstdio>
#include <map>

#include "daemon/queries/answers.h"

namespace tentq::answers {
namespace {

Json class_names(std::uint32_t mask) {
  Json names = Json::array();
  for (std::size_t c = 0; c < kClassCount; ++c) {
    if (((mask >> c) & 1u) != 0) names.push_back(kClassNames[c]);
  }
  return names;
}

std::string_view client_state(const ClientView& client) {
  if (client.quarantined) return "quarantined";
  if (client.leaving) return "leaving";
  return client.parked ? "parked" : "active";
}

// Null: no quota, the limits of every client. What is used is of all the client's sessions.
Json quota_json(const ClientView& client, const core::Amounts& used) {
  const QuotaView& quota = client.quota;
  if (quota.name.empty()) return nullptr;
  return {{"name", quota.name},
          {"per", quota.per},
          {"highest_class", kClassNames[index_of(quota.highest_class)]},
          {"over", quota.downgrade ? "downgrade" : "reject"},
          {"weight", client.weight},
          {"owners", quota.owners},
          {"bytes", quota.bytes},
          {"in_flight_bytes", quota.in_flight_bytes},
          {"pinned_bytes", quota.pinned_bytes ? Json(*quota.pinned_bytes) : Json()},
          {"used_owners", used.owners},
          {"used_bytes", used.bytes},
          {"used_pinned_bytes", quota.used_pinned_bytes}};
}

// By fairness key.
std::map<ClientKey, core::Amounts> outstanding_by_key(const std::vector<ClientView>& clients) {
  std::map<ClientKey, core::Amounts> sums;
  for (const ClientView& client : clients) {
    core::Amounts& sum = sums[client.key];
    sum.owners += client.totals.outstanding.owners;
    sum.bytes += client.totals.outstanding.bytes;
  }
  return sums;
}

Json client_json(const ClientView& client, const core::Amounts& used, Time now) {
  Json violations = Json::object();
  std::uint64_t violations_total = 0;
  for (std::size_t i = 0; i < kViolationCount; ++i) {
    if (client.violations[i] == 0) continue;
    violations[std::string(to_string(static_cast<Violation>(i)))] = client.violations[i];
    violations_total += client.violations[i];
  }
  return {{"client", client.id.value()},
          {"name", client.name},
          {"state", client_state(client)},
          {"pid", client.pid},
          {"uid", client.uid},
          {"gid", client.gid},
          {"fairness_key", client.key.value()},
          {"classes", class_names(client.class_mask)},
          {"downgraded_classes", class_names(client.downgraded_classes)},
          {"downgraded_owners", client.downgraded_owners},
          {"weight", client.weight},
          {"quota", quota_json(client, used)},
          {"attached_seconds", seconds(Duration{age_ns(client.attached, now)})},
          {"slots", client.slots},
          {"slots_used", client.slots_used},
          {"depth", client.totals.queued_owners},
          {"in_flight", client.totals.in_flight_owners},
          {"outstanding_owners", client.totals.outstanding.owners},
          {"outstanding_bytes", client.totals.outstanding.bytes},
          {"outstanding_extents", client.totals.outstanding.extents},
          {"granted_owners", client.totals.granted.owners},
          {"granted_bytes", client.totals.granted.bytes},
          {"granted_extents", client.totals.granted.extents},
          {"regions", client.regions},
          {"registered_bytes", client.registered_bytes},
          {"segments_open", client.segments},
          {"notifications_lost", client.mailbox_lost},
          {"stalled_producer", client.stalled_producer},
          {"violations", violations_total},
          {"violations_by_kind", std::move(violations)},
          {"last_error", client.last_error}};
}

Json region_json(const RegionView& region) {
  return {{"base", region.base},
          {"size_bytes", region.size},
          {"host_access", region.host_access},
          {"scope", region.scope},
          {"remote_access", region.remote_access},
          {"pins", region.pins},
          {"resident", region.resident}};
}

}  // namespace

QueryAnswer clients(const Question& question) {
  Json rows = Json::array();
  const std::vector<ClientView> clients = question.inspection.clients();
  auto used = outstanding_by_key(clients);
  for (const ClientView& client : clients) {
    if (!question.may_see(client)) continue;
    rows.push_back(client_json(client, used[client.key], question.now));
  }
  return document({{"clients", std::move(rows)}, {"only_own", !question.caller.admin}});
}

// Of other hosts: what is open here, and what the directory has.
void add_elsewhere(const Question& question, Json* document) {
  Json opened = Json::array();
  for (const ElsewhereView& segment : question.inspection.elsewhere()) {
    opened.push_back({{"segment", segment.name},
                      {"address", segment.address},
                      {"state", segment.state},
                      {"failure", segment.failure.empty() ? Json() : Json(segment.failure)},
                      {"regions", segment.regions},
                      {"pins", segment.pins}});
  }
  Json names = Json::array();
  for (const DirectoryNameView& name : question.inspection.directory_names(kMostDirectoryNames)) {
    names.push_back({{"segment", name.name}, {"address", name.address}, {"host", name.host}});
  }
  (*document)["elsewhere"] = std::move(opened);
  (*document)["directory"] = std::move(names);
}

QueryAnswer segments(const Question& question) {
  const std::string_view of = question.argument("of");
  if (!of.empty() && of != "hosts") return refusal(StatusCode::invalid_argument, "of= takes hosts");
  if (of == "hosts" && !question.caller.admin) {
    return refusal(StatusCode::not_permitted,
                   "segments of other hosts are shown on the admin socket only");
  }
  Json rows = Json::array();
  for (const SegmentView& segment : question.inspection.segments()) {
    if (!question.caller.admin && segment.uid != question.caller.uid) continue;
    Json regions = Json::array();
    std::uint64_t bytes = 0;
    for (const RegionView& region : segment.regions) {
      regions.push_back(region_json(region));
      bytes += region.size;
    }
    char incarnation[17];
    std::snprintf(incarnation, sizeof(incarnation), "%016llx",
                  static_cast<unsigned long long>(segment.incarnation));
    rows.push_back({{"segment", segment.name},
                    {"uid", segment.uid},
                    {"client", segment.client.valid() ? Json(segment.client.value()) : Json()},
                    {"state", segment.client.valid() ? "exported" : "held"},
                    {"incarnation", incarnation},
                    {"handles", segment.handles},
                    {"registered_bytes", bytes},
                    {"directory", segment.directory.empty() ? Json() : Json(segment.directory)},
                    {"regions", std::move(regions)}});
  }
  Json json = {{"segments", std::move(rows)}, {"only_own", !question.caller.admin}};
  if (of == "hosts") add_elsewhere(question, &json);
  return document(json);
}

QueryAnswer lanes(const Question& question) {
  Json rows = Json::array();
  for (const LaneView& lane : question.inspection.lanes()) {
    const core::LaneTotals& totals = lane.totals;
    rows.push_back({{"lane", lane.name},
                    {"id", lane.id.value()},
                    {"transport", lane.transport},
                    {"away", totals.away},
                    {"depth", totals.queued_owners},
                    {"bytes", totals.queued_bytes},
                    {"in_flight_bytes", totals.in_flight_bytes},
                    {"in_flight_chunks", totals.in_flight_chunks},
                    {"window_bytes", totals.window_bytes},
                    {"window_chunks", totals.window_chunks},
                    {"chunk_bytes", totals.chunk_bytes},
                    {"adaptive", totals.adaptive},
                    {"floor_bytes", totals.floor_bytes},
                    {"base_latency_ns", totals.base_latency.count()},
                    {"target_latency_ns", totals.target_latency.count()},
                    {"rate_bytes_per_second", totals.rate_bytes_per_s},
                    {"low_rate_bytes_per_second", totals.low_rate_bytes_per_s}});
  }
  return document({{"lanes", std::move(rows)}});
}

QueryAnswer peers(const Question& question) {
  Json rows = Json::array();
  const auto of_lane = [](const core::LaneTotals& totals) {
    return Json{{"depth", totals.queued_owners},
                {"bytes", totals.queued_bytes},
                {"in_flight_bytes", totals.in_flight_bytes}};
  };
  for (const PeerView& peer : question.inspection.peers()) {
    rows.push_back({{"address", peer.address},
                    {"host", peer.host},
                    {"auth", peer.auth},
                    {"certificate", peer.certificate},
                    {"dialed", peer.dialed},
                    {"accepted", peer.accepted},
                    {"connections", peer.connections},
                    {"away", peer.away},
                    {"lost_links", peer.lost_links},
                    {"read", of_lane(peer.read)},
                    {"write", of_lane(peer.write)},
                    {"serve", of_lane(peer.serve)}});
  }
  return document({{"peers", std::move(rows)}});
}

}  // namespace tentq::answers
