// `status`, `queue` and `errors`.
#include <algorithm>

#include "client/ctl/render.h"
#include "client/ctl/table.h"

namespace tentq::ctl {
namespace {

using Kind = Column::Kind;

std::string number(const Json& value) {
  return count_text(value.get<std::uint64_t>());
}
std::string bytes(const Json& value) {
  return bytes_text(value.get<std::uint64_t>());
}
std::string age(const Json& value) {
  return age_text(value.get<std::uint64_t>());
}
std::string text(const Json& value) {
  return value.get<std::string>();
}

// "name   value", one below the other.
class Facts {
 public:
  explicit Facts(bool terminal) : terminal_(terminal) {}
  void add(const std::string& name, const std::string& value, Tint tint = Tint::none) {
    constexpr std::size_t kIndent = 14;
    std::string label = name;
    label.resize(kIndent, ' ');
    const std::string shown = wrapped(printable(value), kMostColumns - kIndent, kIndent);
    out_ += tinted(label, Tint::dim, terminal_) + tinted(shown, tint, terminal_) + '\n';
  }
  const std::string& text() const { return out_; }

 private:
  bool terminal_;
  std::string out_;
};

Tint state_tint(const std::string& state) {
  if (state == "running") return Tint::good;
  return state == "draining" || state == "starting" ? Tint::warn : Tint::bad;
}

std::string transports_text(const Json& transports) {
  std::string out;
  for (const Json& transport : transports) {
    if (!out.empty()) out += "; ";
    out += text(transport.at("name")) + ": ";
    for (const Json& lane : transport.at("lanes")) out += text(lane) + ", ";
    out.resize(out.size() - 2);
    if (transport.contains("workers")) out += " (" + number(transport.at("workers")) + " workers)";
    if (transport.contains("paced_bytes_per_second")) {
      out += ", each paced at " + bytes(transport.at("paced_bytes_per_second")) + "/s";
    }
  }
  return out.empty() ? "none" : out;
}

std::string directory_text(const Json& directory) {
  std::string out = text(directory.at("state")) + ", " + number(directory.at("known")) +
                    " names known, " + number(directory.at("published")) + " published, " +
                    number(directory.at("taken")) + " taken by other hosts; etcd at " +
                    text(directory.at("endpoints"));
  const std::string failure = text(directory.at("last_failure"));
  return failure.empty() ? out : out + "; last failure: " + failure;
}

std::string ended_text(const Json& counters) {
  std::string out = number(counters.at("completed")) + " completed, " +
                    number(counters.at("failed")) + " failed, " + number(counters.at("timed_out")) +
                    " timed out, " + number(counters.at("canceled")) + " canceled, " +
                    number(counters.at("rejected")) + " rejected";
  std::string reasons;
  for (const auto& [reason, count] : counters.at("rejected_by_reason").items()) {
    reasons += (reasons.empty() ? "" : ", ") + reason + ' ' + number(count);
  }
  return reasons.empty() ? out : out + " (" + reasons + ')';
}

// Classes of which an owner has ended.
std::string latency_text(const Json& latency, bool terminal) {
  Table table({{"class", Kind::text},
               {"ended"},
               {"wait p50"},
               {"wait p99"},
               {"transport p50"},
               {"transport p99"}});
  for (const auto& [name, row] : latency.items()) {
    const Json& wait = row.at("wait");
    const Json& transport = row.at("transport");
    if (wait.at("owners") == 0) continue;
    table.row({name, number(wait.at("owners")), age(wait.at("p50_ns")), age(wait.at("p99_ns")),
               age(transport.at("p50_ns")), age(transport.at("p99_ns"))});
  }
  return table.empty() ? "" : '\n' + table.text(terminal);
}

void add_queue_row(const std::string& name, const Json& row, Tint tint, Table* table) {
  table->row({{name, tint},
              number(row.at("depth")),
              bytes(row.at("bytes")),
              age(row.at("oldest_age_ns")),
              number(row.at("in_flight")),
              bytes(row.at("in_flight_bytes")),
              number(row.at("route_pending")),
              number(row.at("draining"))});
}

}  // namespace

void render_status(const Json& document, Output& to) {
  const Json& queue = document.at("queue");
  const Json& outstanding = document.at("outstanding");
  const Json& host = document.at("limits").at("host");
  const Json& counters = document.at("counters");
  Facts facts(to.terminal);
  const std::string state = text(document.at("state"));
  facts.add("state", state, state_tint(state));
  facts.add("version", text(document.at("version")) + ", pid " +
                           std::to_string(document.at("pid").get<std::uint64_t>()));
  facts.add("epoch", std::to_string(document.at("epoch").at("counter").get<std::uint64_t>()) + '-' +
                         text(document.at("epoch").at("random")));
  facts.add("uptime", age_text(static_cast<std::uint64_t>(
                          std::max(document.at("uptime_seconds").get<double>(), 0.0) * 1e9)));
  facts.add("policy", text(document.at("policy")));
  facts.add("sessions", number(document.at("sessions")) + " attached, " +
                            number(document.at("reaped_clients")) + " died, " +
                            number(document.at("refused_attaches")) + " refused");
  facts.add("memory", bytes(document.at("registered_bytes")) + " registered in " +
                          number(document.at("regions")) + " regions");
  facts.add("queued", number(queue.at("depth")) + " owners, " + bytes(queue.at("bytes")) +
                          ", oldest " + age(queue.at("oldest_age_ns")));
  facts.add("in flight",
            number(queue.at("in_flight")) + " owners, " + bytes(queue.at("in_flight_bytes")));
  facts.add("outstanding", number(outstanding.at("owners")) + " of " + number(host.at("owners")) +
                               " owners, " + bytes(outstanding.at("bytes")) + " of " +
                               bytes(host.at("bytes")));
  facts.add("ended", ended_text(counters));
  const auto downgraded = document.at("downgraded_owners").get<std::uint64_t>();
  if (downgraded != 0) {
    facts.add("downgraded", count_text(downgraded) + " owners, by quotas, to a lower class");
  }
  facts.add("transferred", bytes(counters.at("transferred_bytes")) + " in " +
                               number(counters.at("dispatched_chunks")) + " chunks");
  facts.add("transports", transports_text(document.at("transports")));
  const Json& peers = document.value("peers", Json());
  facts.add("other hosts", peers.is_null() ? "cannot connect" : "connect to " + text(peers));
  const Json directory = document.value("directory", Json());
  if (!directory.is_null()) {
    const bool up = text(directory.at("state")) == "up";
    facts.add("directory", directory_text(directory), up ? Tint::none : Tint::warn);
  }
  const Json& metrics = document.at("metrics");
  facts.add("metrics", metrics.is_null() ? "not served" : "http://" + text(metrics) + "/metrics");
  const auto missed = document.at("missed_wakeups").get<std::uint64_t>();
  facts.add("loop",
            number(document.at("turns")) + " turns, " + number(document.at("sleeps")) +
                " sleeps, " + count_text(missed) + " missed wake-ups",
            missed == 0 ? Tint::none : Tint::warn);
  const auto errors = document.at("distinct_errors").get<std::uint64_t>();
  facts.add("errors", errors == 0 ? "none" : count_text(errors) + " distinct: tentqctl errors",
            errors == 0 ? Tint::none : Tint::warn);
  for (const Json& warning : document.at("warnings"))
    facts.add("warning", text(warning), Tint::warn);
  to.out << facts.text() << latency_text(document.at("latency"), to.terminal);
}

namespace {

// Rows that `key` names.
std::string amounts_text(const Json& rows, const char* key, const Output& to) {
  Table table({{key, Kind::text}, {"depth"}, {"bytes"}, {"chunks in flight"}, {"bytes"}});
  for (const Json& row : rows) {
    table.row({text(row.at(key)), number(row.at("depth")), bytes(row.at("bytes")),
               number(row.at("in_flight_chunks")), bytes(row.at("in_flight_bytes"))});
  }
  return table.text(to.terminal);
}

}  // namespace

void render_queue(const Json& document, Output& to) {
  Table table({{"class", Kind::text},
               {"depth"},
               {"bytes"},
               {"oldest"},
               {"in flight"},
               {"bytes"},
               {"routing"},
               {"draining"}});
  for (const auto& [name, row] : document.at("classes").items()) {
    add_queue_row(name, row, Tint::none, &table);
  }
  add_queue_row("total", document.at("total"), Tint::bold, &table);
  to.out << table.text(to.terminal);
  if (document.contains("clients")) {
    Table rows({{"client"},
                {"name", Kind::text},
                {"uid"},
                {"depth"},
                {"in flight"},
                {"outstanding"},
                {"bytes"}});
    for (const Json& row : document.at("clients")) {
      rows.row({std::to_string(row.at("client").get<std::uint64_t>()), text(row.at("name")),
                std::to_string(row.at("uid").get<std::uint64_t>()), number(row.at("depth")),
                number(row.at("in_flight")), number(row.at("outstanding_owners")),
                bytes(row.at("outstanding_bytes"))});
    }
    to.out << '\n' << rows.text(to.terminal);
  }
  if (document.contains("lanes")) to.out << '\n' << amounts_text(document.at("lanes"), "lane", to);
  if (document.contains("peers")) to.out << '\n' << amounts_text(document.at("peers"), "peer", to);
}

void render_errors(const Json& document, Output& to) {
  if (document.at("errors").empty()) {
    to.out << "no errors since the start\n";
    return;
  }
  for (const Json& error : document.at("errors")) {
    const std::string level = text(error.at("level"));
    to.out << tinted(printable(text(error.at("cause"))), level == "error" ? Tint::bad : Tint::warn,
                     to.terminal)
           << "  " << number(error.at("count")) << " times, first " << age(error.at("first_age_ns"))
           << " ago, last " << age(error.at("last_age_ns")) << " ago\n";
    for (const char* part : {"text", "remedy"}) {
      const std::string shown = printable(text(error.at(part)));
      if (!shown.empty()) to.out << "  " << wrapped(shown, kMostColumns - 2, 2) << '\n';
    }
  }
}

}  // namespace tentq::ctl
