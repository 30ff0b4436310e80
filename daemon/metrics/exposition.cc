// Which figures there are, family by family. See exposition.h.
#include "daemon/metrics/exposition.h"

#include <algorithm>
#include <array>
#include <functional>

#include "daemon/metrics/latencies.h"
#include "daemon/metrics/text_format.h"
#include "proto/status.h"

namespace tentq {

namespace {

// Room for all that is written with a few lanes.
constexpr std::size_t kTextBytes = 48u << 10;

std::uint64_t ns_of(Duration duration) {
  return static_cast<std::uint64_t>(std::max(duration, Duration{}).count());
}

void write_daemon(const DaemonView& daemon, const core::Core& core, TextFormat* out) {
  out->family("tentq_build_info", "gauge", "The daemon's version; always 1.");
  out->sample({{"version", daemon.version}}, 1);
  out->family("tentq_uptime_seconds", "gauge", "Time since the daemon started.");
  out->seconds({}, ns_of(daemon.uptime));
  out->family("tentq_draining", "gauge", "1 while the daemon takes no new work, else 0.");
  out->sample({}, core.draining() ? 1 : 0);
  out->family("tentq_sessions", "gauge", "Sessions that are attached.");
  out->sample({}, daemon.sessions);
  out->family("tentq_regions", "gauge", "Registered regions of all clients.");
  out->sample({}, daemon.regions);
  out->family("tentq_registered_bytes", "gauge", "Registered memory of all clients.");
  out->sample({}, daemon.registered_bytes);
  out->family("tentq_reaped_clients_total", "counter", "Clients that died without a goodbye.");
  out->sample({}, daemon.reaped_clients);
  out->family("tentq_refused_attaches_total", "counter", "Clients that were not let in.");
  out->sample({}, daemon.refused_attaches);
  out->family("tentq_missed_wakeups_total", "counter",
              "Work that no doorbell told of, found by polling; anything but 0 is a fault.");
  out->sample({}, daemon.missed_wakeups);
  out->family("tentq_client_violations_total", "counter",
              "Requests of clients that broke the protocol or their rights, by what was wrong.");
  for (std::size_t i = 0; i < kViolationCount; ++i) {
    out->sample({{"reason", to_string(static_cast<Violation>(i))}}, daemon.violations[i]);
  }
}

void write_directory(const DirectoryView& directory, TextFormat* out) {
  out->family("tentq_directory_up", "gauge", "1 while the directory of names is followed, else 0.");
  out->sample({}, directory.state == "up" ? 1 : 0);
  out->family("tentq_directory_published", "gauge", "Names of this host in the directory.");
  out->sample({}, directory.published);
  out->family("tentq_directory_taken", "gauge", "Names of this host that another host has there.");
  out->sample({}, directory.taken);
  out->family("tentq_directory_known", "gauge", "Names of all hosts that are known from there.");
  out->sample({}, directory.known);
  out->family("tentq_directory_failures_total", "counter", "Calls that etcd has not carried out.");
  out->sample({}, directory.failures);
}

void write_classes(const core::Core& core, Time now, TextFormat* out) {
  std::array<core::ClassTotals, kClassCount> totals;
  for (std::size_t c = 0; c < kClassCount; ++c) {
    totals[c] = core.class_totals(static_cast<ClassId>(c));
  }
  const auto gauge = [&](std::string_view name, std::string_view help,
                         std::uint64_t core::ClassTotals::*member) {
    out->family(name, "gauge", help);
    for (std::size_t c = 0; c < kClassCount; ++c) {
      out->sample({{"class", kClassNames[c]}}, totals[c].*member);
    }
  };
  gauge("tentq_queue_depth", "Owners that wait for their first dispatch.",
        &core::ClassTotals::queued_owners);
  gauge("tentq_queue_bytes", "Bytes that are not dispatched yet.",
        &core::ClassTotals::queued_bytes);
  out->family("tentq_queue_oldest_age_seconds", "gauge",
              "Age of the oldest owner with bytes not dispatched; 0 when there is none.");
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const Time oldest = totals[c].oldest_enqueued;
    out->seconds({{"class", kClassNames[c]}}, oldest == kNever ? 0 : ns_of(now - oldest));
  }
  gauge("tentq_inflight_owners", "Owners with a chunk dispatched, not ended.",
        &core::ClassTotals::in_flight_owners);
  gauge("tentq_inflight_bytes", "Bytes of the chunks that transports own.",
        &core::ClassTotals::in_flight_bytes);
  gauge("tentq_route_pending_owners", "Queued owners that wait for their segment.",
        &core::ClassTotals::route_pending_owners);
}

void write_counters(const core::Counters& counters, const DaemonView& daemon, TextFormat* out) {
  const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    out->family(name, "counter", help);
    out->sample({}, value);
  };
  counter("tentq_enqueued_total", "Owners admitted.", counters.enqueued);
  counter("tentq_dispatched_chunks_total", "Chunks handed to transports.",
          counters.dispatched_chunks);
  counter("tentq_transferred_bytes_total", "Bytes that transports have moved.",
          counters.transferred_bytes);
  out->family("tentq_completed_total", "counter", "Admitted owners that ended, by how.");
  out->sample({{"result", to_string(TaskState::completed)}}, counters.completed);
  out->sample({{"result", to_string(TaskState::failed)}}, counters.failed);
  out->sample({{"result", to_string(TaskState::timeout)}}, counters.timed_out);
  out->sample({{"result", to_string(TaskState::canceled)}}, counters.canceled);
  out->family("tentq_rejected_total", "counter",
              "Owners that the daemon refused to admit, by why; calls that the client's library "
              "refused by itself never reach the daemon.");
  for (std::size_t i = 1; i < counters.rejected.size(); ++i) {
    out->sample({{"reason", to_string(static_cast<Reason>(i))}}, counters.rejected[i]);
  }
  counter("tentq_admitted_unmeetable_total",
          "Owners admitted although their deadline could not be met by the estimate.",
          counters.admitted_unmeetable);
  counter("tentq_downgraded_total", "Owners that a quota moved to a less urgent class.",
          daemon.downgraded_owners);
  counter("tentq_requeues_total", "Chunks that a transport gave back to be dispatched again.",
          counters.requeues);
  counter("tentq_stale_completions_total", "Completions of attempts that were over already.",
          counters.stale_completions);
  counter("tentq_internal_reserve_exhausted_total",
          "Refusals of internal work for want of its reserve.",
          counters.internal_reserve_exhausted);
}

void write_latencies(const Latencies& latencies, TextFormat* out) {
  const auto histograms = [&](std::string_view name, std::string_view help,
                              Histogram ClassLatencies::*member) {
    out->family(name, "histogram", help);
    for (std::size_t c = 0; c < kClassCount; ++c) {
      out->histogram("class", kClassNames[c], latencies.of(static_cast<ClassId>(c)).*member);
    }
  };
  histograms("tentq_queue_wait_seconds",
             "Of every admitted owner that ended: from submit to its first dispatch, or to its end "
             "if it was never dispatched.",
             &ClassLatencies::wait);
  histograms("tentq_transport_seconds",
             "Of every owner that was dispatched and ended: from its first dispatch to its end.",
             &ClassLatencies::transport);
}

void write_lanes(const std::vector<LaneView>& lanes, TextFormat* out) {
  out->family("tentq_lanes", "gauge", "Lanes that are open.");
  out->sample({}, lanes.size());
  const std::size_t shown = std::min(lanes.size(), kMostLanes);
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out->family(name, "gauge", help);
    for (std::size_t i = 0; i < shown; ++i) {
      out->sample({{"lane", lanes[i].name}, {"transport", lanes[i].transport}},
                  value(lanes[i].totals));
    }
  };
  using Totals = core::LaneTotals;
  each("tentq_window_bytes", "Most bytes in flight on the lane now.",
       std::mem_fn(&Totals::window_bytes));
  each("tentq_window_floor_bytes", "The window is not made smaller; 0: not known yet.",
       std::mem_fn(&Totals::floor_bytes));
  each("tentq_window_chunks", "Most chunks in flight on the lane.",
       std::mem_fn(&Totals::window_chunks));
  each("tentq_lane_inflight_bytes", "Bytes in flight on the lane.",
       std::mem_fn(&Totals::in_flight_bytes));
  each("tentq_lane_inflight_chunks", "Chunks in flight on the lane.",
       std::mem_fn(&Totals::in_flight_chunks));
  each("tentq_lane_queue_bytes", "Bytes that wait for the lane.",
       std::mem_fn(&Totals::queued_bytes));
  each("tentq_lane_rate_bytes_per_second", "What the lane has been seen to move; 0: not known yet.",
       std::mem_fn(&Totals::rate_bytes_per_s));
  const auto each_seconds = [&](std::string_view name, std::string_view help,
                                Duration Totals::*member) {
    out->family(name, "gauge", help);
    for (std::size_t i = 0; i < shown; ++i) {
      out->seconds({{"lane", lanes[i].name}, {"transport", lanes[i].transport}},
                   ns_of(lanes[i].totals.*member));
    }
  };
  each_seconds("tentq_lane_base_latency_seconds",
               "Latency of a chunk that is alone on the lane; 0: not known yet.",
               &Totals::base_latency);
  each_seconds("tentq_lane_target_latency_seconds",
               "An adaptive window shrinks above it; 0: not known yet.", &Totals::target_latency);
}

}  // namespace

std::string exposition(const Inspection& inspection) {
  TextFormat out(kTextBytes);
  const DaemonView daemon = inspection.daemon();
  const core::Core& core = inspection.core();
  write_daemon(daemon, core, &out);
  if (daemon.directory) write_directory(*daemon.directory, &out);
  write_classes(core, inspection.now(), &out);
  write_counters(core.counters(), daemon, &out);
  write_latencies(*daemon.latencies, &out);
  write_lanes(inspection.lanes(), &out);
  return out.take();
}

}  // namespace tentq
