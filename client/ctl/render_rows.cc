// `clients`, `segments`, `lanes`, `owners` and `explain`.
#include "client/ctl/render.h"
#include "client/ctl/table.h"

namespace tentq::ctl {
namespace {

using Kind = Column::Kind;

std::string number(const Json& value) {
  return count_text(value.get<std::uint64_t>());
}
// An id: never shortened. "-" for none.
std::string id(const Json& value) {
  return value.is_null() ? "-" : std::to_string(value.get<std::uint64_t>());
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

void say_only_own(const Json& document, Output& to) {
  if (!document.at("only_own").get<bool>()) return;
  to.out << tinted("only your own; all with admin.sock (root or group tentq-admin)\n", Tint::dim,
                   to.terminal);
}

std::string class_letters(const Json& classes) {
  std::string out;
  for (const Json& name : classes) out += text(name).substr(0, 1);
  return out;
}

Tint client_tint(const std::string& state) {
  if (state == "quarantined") return Tint::bad;
  return state == "leaving" ? Tint::warn : Tint::none;
}

// "quota client:store-*, weight 4, at most prefetch (else downgrade), owners 5/100"
std::string quota_text(const Json& row) {
  const Json& quota = row.at("quota");
  const auto weight = row.at("weight").get<std::uint64_t>();
  std::string out = quota.is_null() ? "" : "quota " + text(quota.at("name"));
  if (weight != 1) out += (out.empty() ? "" : ", ") + std::string("weight ") + count_text(weight);
  if (quota.is_null()) return out;
  if (text(quota.at("highest_class")) != "foreground") {
    out +=
        ", at most " + text(quota.at("highest_class")) + " (else " + text(quota.at("over")) + ')';
  }
  out += ", owners " + number(quota.at("used_owners")) + '/' + number(quota.at("owners")) + ", " +
         bytes(quota.at("used_bytes")) + '/' + bytes(quota.at("bytes"));
  if (quota.at("in_flight_bytes") != 0) {
    out += ", in flight at most " + bytes(quota.at("in_flight_bytes"));
  }
  if (!quota.at("pinned_bytes").is_null()) {
    out +=
        ", pinned " + bytes(quota.at("used_pinned_bytes")) + '/' + bytes(quota.at("pinned_bytes"));
  }
  const auto downgraded = row.at("downgraded_owners").get<std::uint64_t>();
  if (downgraded != 0) out += ", " + count_text(downgraded) + " owners downgraded";
  return out;
}

// "bad_slot 3, over_credit 1"
std::string violations_text(const Json& violations) {
  std::string out;
  for (const auto& [kind, count] : violations.items()) {
    out += (out.empty() ? "" : ", ") + kind + ' ' + number(count);
  }
  return out;
}

}  // namespace

void render_clients(const Json& document, Output& to) {
  Table table({{"client"},
               {"name", Kind::text},
               {"state", Kind::text},
               {"pid"},
               {"uid"},
               {"class", Kind::text},
               {"slots"},
               {"queued"},
               {"flying"},
               {"memory"},
               {"viol"}});
  for (const Json& row : document.at("clients")) {
    const std::string state = text(row.at("state"));
    const auto violations = row.at("violations").get<std::uint64_t>();
    table.row({id(row.at("client")),
               text(row.at("name")),
               {state, client_tint(state)},
               id(row.at("pid")),
               id(row.at("uid")),
               class_letters(row.at("classes")),
               number(row.at("slots_used")) + '/' + number(row.at("slots")),
               number(row.at("depth")),
               number(row.at("in_flight")),
               bytes(row.at("registered_bytes")),
               {count_text(violations), violations == 0 ? Tint::none : Tint::bad}});
  }
  to.out << (table.empty() ? "no clients\n" : table.text(to.terminal));
  for (const Json& row : document.at("clients")) {
    std::string notes = quota_text(row);
    const std::string last_error = text(row.at("last_error"));
    if (!last_error.empty()) notes += (notes.empty() ? "" : "; ") + last_error;
    if (row.at("stalled_producer").get<bool>())
      notes += (notes.empty() ? "" : "; ") + std::string("stalled producer");
    const auto lost = row.at("notifications_lost").get<std::uint64_t>();
    if (lost != 0) notes += (notes.empty() ? "" : "; ") + count_text(lost) + " notifications lost";
    const std::string violations = violations_text(row.at("violations_by_kind"));
    if (!violations.empty()) notes += (notes.empty() ? "" : "; ") + violations;
    if (notes.empty()) continue;
    to.out << wrapped("client " + id(row.at("client")) + ": " + printable(notes), kMostColumns, 2)
           << '\n';
  }
  say_only_own(document, to);
}

namespace {

void render_elsewhere(const Json& document, Output& to) {
  Table opened({{"open here", Kind::text},
                {"at", Kind::text},
                {"state", Kind::text},
                {"regions"},
                {"pins"}});
  for (const Json& row : document.at("elsewhere")) {
    const std::string state = text(row.at("state"));
    const Json& failure = row.at("failure");
    opened.row(
        {text(row.at("segment")),
         text(row.at("address")),
         {failure.is_null() ? state : text(failure), state == "open" ? Tint::none : Tint::warn},
         number(row.at("regions")),
         number(row.at("pins"))});
  }
  Table known({{"in the directory", Kind::text}, {"at", Kind::text}});
  for (const Json& row : document.at("directory")) {
    known.row({text(row.at("segment")), text(row.at("address"))});
  }
  to.out << '\n'
         << (opened.empty() ? "no segment of another host is open\n" : opened.text(to.terminal));
  if (!known.empty()) to.out << '\n' << known.text(to.terminal);
}

}  // namespace

void render_segments(const Json& document, Output& to) {
  Table table({{"segment", Kind::text},
               {"state", Kind::text},
               {"client"},
               {"uid"},
               {"regions"},
               {"memory"},
               {"handles"},
               {"pins"},
               {"directory", Kind::text}});
  for (const Json& row : document.at("segments")) {
    const Json& directory = row.at("directory");
    std::uint64_t pins = 0;
    for (const Json& region : row.at("regions")) pins += region.at("pins").get<std::uint64_t>();
    const bool held = text(row.at("state")) == "held";
    table.row({text(row.at("segment")),
               {text(row.at("state")), held ? Tint::warn : Tint::none},
               id(row.at("client")),
               id(row.at("uid")),
               count_text(row.at("regions").size()),
               bytes(row.at("registered_bytes")),
               number(row.at("handles")),
               count_text(pins),
               directory.is_null() ? "" : text(directory)});
  }
  to.out << (table.empty() ? "no segments\n" : table.text(to.terminal));
  if (document.contains("elsewhere")) render_elsewhere(document, to);
  say_only_own(document, to);
}

void render_lanes(const Json& document, Output& to) {
  Table table({{"lane", Kind::text},
               {"transport", Kind::text},
               {"queued"},
               {"bytes"},
               {"in flight"},
               {"window"},
               {"chunks"},
               {"of"},
               {"chunk size"}});
  for (const Json& row : document.at("lanes")) {
    table.row({text(row.at("lane")), text(row.at("transport")), number(row.at("depth")),
               bytes(row.at("bytes")), bytes(row.at("in_flight_bytes")),
               row.value("away", false) ? "away" : bytes(row.at("window_bytes")),
               number(row.at("in_flight_chunks")), number(row.at("window_chunks")),
               bytes(row.at("chunk_bytes"))});
  }
  to.out << (table.empty() ? "no lanes\n" : table.text(to.terminal));
}

void render_peers(const Json& document, Output& to) {
  Table table({{"peer", Kind::text},
               {"link", Kind::text},
               {"auth", Kind::text},
               {"conns"},
               {"lost"},
               {"reads"},
               {"in flight"},
               {"writes"},
               {"in flight"},
               {"serves"},
               {"in flight"}});
  for (const Json& row : document.at("peers")) {
    const bool accepted = row.at("accepted");
    const std::string link = row.at("away") ? (accepted ? "theirs" : "away")
                             : accepted     ? "both"
                                            : "ours";
    std::vector<Cell> cells = {text(row.at("address")), link, text(row.at("auth")),
                               number(row.at("connections")), number(row.at("lost_links"))};
    for (const char* lane : {"read", "write", "serve"}) {
      cells.push_back(number(row.at(lane).at("depth")));
      cells.push_back(bytes(row.at(lane).at("in_flight_bytes")));
    }
    table.row(std::move(cells));
  }
  to.out << (table.empty() ? "no links to other hosts\n" : table.text(to.terminal));
}

void render_owners(const Json& document, Output& to) {
  Table table({{"owner"},
               {"client"},
               {"name", Kind::text},
               {"class", Kind::text},
               {"lane", Kind::text},
               {"state", Kind::text},
               {"op", Kind::text},
               {"length"},
               {"done"},
               {"chunks"},
               {"age"}});
  for (const Json& row : document.at("owners")) {
    table.row({id(row.at("owner")), id(row.at("client")), text(row.at("client_name")),
               text(row.at("class")), text(row.at("lane")), text(row.at("state")),
               text(row.at("op")), bytes(row.at("length_bytes")), bytes(row.at("completed_bytes")),
               number(row.at("chunks_in_flight")), age(row.at("age_ns"))});
  }
  to.out << (table.empty() ? "no owners\n" : table.text(to.terminal));
  if (document.at("more").get<bool>()) {
    to.out << "the oldest " << document.at("owners").size() << " are shown\n";
  }
  say_only_own(document, to);
}

void render_explain(const Json& document, Output& to) {
  const Json& owner = document.at("owner");
  const std::string client = text(owner.at("client_name"));
  std::string head = "owner " + id(owner.at("owner")) + ": " + text(owner.at("op")) + " of " +
                     bytes(owner.at("length_bytes")) + ", class " + text(owner.at("class")) +
                     ", client " + id(owner.at("client")) +
                     (client.empty() ? "" : " (" + client + ')') + ", " + text(owner.at("state")) +
                     ", age " + age(owner.at("age_ns"));
  if (!owner.at("deadline_in_ns").is_null()) {
    head += ", deadline in " + age(owner.at("deadline_in_ns"));
  }
  to.out << wrapped(printable(head), kMostColumns, 2) << '\n'
         << wrapped(printable(text(document.at("text"))), kMostColumns, 2) << '\n'
         << "policy " << printable(text(document.at("policy"))) << ", "
         << number(document.at("owners_ahead")) << " owners ahead in its leaf, lane "
         << bytes(document.at("lane_in_flight_bytes")) << " of "
         << bytes(document.at("lane_window_bytes")) << " in flight\n";
}

}  // namespace tentq::ctl
