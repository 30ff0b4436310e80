// `owners` and `explain`: what is queued or in flight, and what one of them waits for.
#include <charconv>

#include "daemon/queries/answers.h"

namespace tentq::answers {
namespace {

constexpr char kAdminRemedy[] =
    "use the admin socket (root or group tentq-admin): tentqctl --socket /run/tentq/admin.sock";

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string lane_name(LaneId lane, const std::vector<LaneView>& lanes) {
  for (const LaneView& known : lanes) {
    if (known.id == lane) return known.name;
  }
  return {};
}

Json owner_json(const core::OwnerView& owner, const ClientView* client,
                const std::vector<LaneView>& lanes, Time now) {
  const bool bounded = owner.deadline != kNever;
  return {{"owner", owner.id.number()},
          {"client", client != nullptr ? Json(client->id.value()) : Json()},
          {"client_name", client != nullptr ? client->name : std::string()},
          {"class", kClassNames[index_of(owner.cls)]},
          {"lane", lane_name(owner.lane, lanes)},
          {"state", owner_state_name(owner.state)},
          {"op", owner.op == Op::read ? "read" : "write"},
          {"length_bytes", owner.length},
          {"dispatched_bytes", owner.dispatched_bytes},
          {"completed_bytes", owner.completed_bytes},
          {"chunks_in_flight", owner.chunks_in_flight},
          {"slot", owner.slot},
          {"cookie", owner.cookie},
          {"age_ns", age_ns(owner.enqueued, now)},
          {"deadline_in_ns", bounded ? Json(until_ns(owner.deadline, now)) : Json()}};
}

bool is_client(const ClientView& client, std::string_view wanted) {
  if (client.name == wanted) return true;
  const auto number = number_of(wanted);
  return number && client.id.value() == *number;
}

// ok: the client= filter names somebody whose rows the caller may see (or is not given).
QueryAnswer check_client_filter(const Question& question, const ClientIndex& clients) {
  const std::string_view wanted = question.argument("client");
  if (wanted.empty()) return {};
  bool somebody = false;
  for (const ClientView& client : clients.all()) {
    if (!is_client(client, wanted)) continue;
    if (question.may_see(client)) return {};
    somebody = true;
  }
  if (somebody) {
    return refusal(StatusCode::not_permitted,
                   std::string("these owners are another user's; ") + kAdminRemedy);
  }
  return refusal(StatusCode::not_found, "no such client; `tentqctl clients` lists ids and names");
}

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

// Whether what it waits for is its client's own and not every client's.
bool waits_for_quota(const core::Explanation& why, const ClientView* client) {
  return client != nullptr && client->quota.has_in_flight &&
         why.cause == core::WaitCause::client_cap;
}

// How the quota has changed its class; empty: not at all, as far as can be known.
std::string class_sentence(const core::Explanation& why, const ClientView* client) {
  if (client == nullptr || client->downgraded_classes == 0 ||
      why.owner.cls != client->quota.highest_class) {
    return {};
  }
  const std::string cls(kClassNames[index_of(why.owner.cls)]);
  return " Class " + cls + " is the highest that quota '" + client->quota.name +
         "' allows: what its client submits above it waits as " + cls + '.';
}

// What is full, for the causes that are about room.
std::string room_sentence(const core::Explanation& why, const ClientView* client,
                          const std::string& lane) {
  const std::string others =
      why.lane_others_queued == 0
          ? "."
          : "; " + std::to_string(why.lane_others_queued) + " others wait for it too.";
  if (why.cause == core::WaitCause::class_cap) {
    return "Its class has " + bytes_text(why.class_in_flight_bytes) + " in flight on lane " + lane +
           ", of at most " + bytes_text(why.class_cap_bytes) +
           " (`classes.CLASS.in_flight_bytes`).";
  }
  if (why.cause == core::WaitCause::client_cap) {
    return "Its client has " + bytes_text(why.client_in_flight_bytes) +
           " in flight on all lanes, of at most " + bytes_text(why.client_cap_bytes) + " (" +
           (waits_for_quota(why, client) ? "`in_flight_bytes` of quota '" + client->quota.name + "'"
                                         : std::string("`limits.client_in_flight_bytes`")) +
           ").";
  }
  if (why.cause == core::WaitCause::reserve) {
    return "What is left of the window of lane " + lane +
           " is kept for other classes: " + bytes_text(why.lane_reserved_bytes) +
           " (`classes.CLASS.reserve_bytes`).";
  }
  return "The window of lane " + lane + " is full: " + bytes_text(why.lane_in_flight_bytes) +
         " in flight of " + bytes_text(why.lane_window_bytes) + others;
}

// One sentence for people; the document has the same facts as numbers.
std::string sentence(const core::Explanation& why, const ClientView* client,
                     std::string_view lane_name, Time now) {
  const std::string lane = '"' + std::string(lane_name) + '"';
  switch (why.cause) {
    case core::WaitCause::none: return "It does not wait: its chunks are with the transport.";
    case core::WaitCause::route:
      if (why.owner.lane.valid()) {
        return "The way of " + lane + " is broken; it fails in " +
               std::to_string(until_ns(why.not_before, now) / 1'000'000) +
               " ms unless the other host is back (`tentqctl peers`).";
      }
      return "Its segment is not reachable yet; it fails in " +
             std::to_string(until_ns(why.not_before, now) / 1'000'000) +
             " ms unless a route appears.";
    case core::WaitCause::receiver:
      return "It waits for receiver credit on lane " + lane + ": " +
             bytes_text(why.receiver_need_bytes) + " are next and the receiver has room for " +
             bytes_text(why.receiver_room_bytes) + " (`tentqctl peers`).";
    case core::WaitCause::window:
    case core::WaitCause::class_cap:
    case core::WaitCause::reserve:
    case core::WaitCause::client_cap: return room_sentence(why, client, lane);
    case core::WaitCause::order:
      return std::to_string(why.owners_ahead) +
             " owners of its session, class and lane are ahead of it.";
    case core::WaitCause::session_order:
      return "Other sessions of its client have their turn first.";
    case core::WaitCause::client_order: return "Other clients of its class have their turn first.";
    case core::WaitCause::class_order:
      return "Other classes are served first under the current policy and weights.";
    case core::WaitCause::aging:
      return "It is older than `limits.age_max` and goes before its turn as soon as lane " + lane +
             " has moved " + bytes_text(why.aging_owed_bytes) +
             " more: old owners get a tenth of its bytes.";
    case core::WaitCause::backoff:
      return "Its transport asked for a pause; it is tried again in " +
             std::to_string(until_ns(why.not_before, now) / 1'000) + " us.";
    case core::WaitCause::draining:
      return "Its outcome is decided; it ends as soon as its " +
             std::to_string(why.owner.chunks_in_flight) + " chunks in flight have.";
  }
  return {};
}

}  // namespace

QueryAnswer owners(const Question& question) {
  const ClientIndex clients(question.inspection.clients());
  QueryAnswer refused = check_client_filter(question, clients);
  if (refused.status != StatusCode::ok) return refused;
  const std::string_view wanted_client = question.argument("client");
  const std::string_view wanted_state = question.argument("state");
  const auto state = owner_state_of(wanted_state);
  if (!wanted_state.empty() && !state) {
    return refusal(StatusCode::invalid_argument,
                   "state= takes queued, route_pending, dispatching, submitted or draining");
  }
  std::size_t most = kMostOwnerRows;
  if (!question.argument("most").empty()) {
    const auto number = number_of(question.argument("most"));
    if (!number || *number == 0 || *number > kMostOwnerRows) {
      return refusal(StatusCode::invalid_argument,
                     "most= takes a number from 1 to " + std::to_string(kMostOwnerRows));
    }
    most = *number;
  }
  const auto filter = [&](const core::OwnerView& owner) {
    if (state && owner.state != *state) return false;
    const ClientView* client = clients.find(owner.session);
    if (client == nullptr) return question.caller.admin && wanted_client.empty();
    if (!question.may_see(*client)) return false;
    return wanted_client.empty() || is_client(*client, wanted_client);
  };
  const std::vector<LaneView> lanes = question.inspection.lanes();
  std::vector<core::OwnerView> found = question.inspection.core().list_owners(filter, most + 1);
  const bool more = found.size() > most;
  if (more) found.resize(most);
  Json rows = Json::array();
  for (const core::OwnerView& owner : found) {
    rows.push_back(owner_json(owner, clients.find(owner.session), lanes, question.now));
  }
  return document(
      {{"owners", std::move(rows)}, {"more", more}, {"only_own", !question.caller.admin}});
}

QueryAnswer explain(const Question& question) {
  const auto number = number_of(question.argument("owner"));
  if (!number) {
    return refusal(StatusCode::invalid_argument,
                   "owner= takes the number that `tentqctl owners` shows");
  }
  const auto why = question.inspection.core().explain(OwnerId::from_number(*number));
  if (!why) {
    return refusal(StatusCode::not_found,
                   "no owner " + std::to_string(*number) +
                       " is queued or in flight: it has ended, or never was");
  }
  const ClientIndex clients(question.inspection.clients());
  const ClientView* client = clients.find(why->owner.session);
  if (client == nullptr ? !question.caller.admin : !question.may_see(*client)) {
    return refusal(StatusCode::not_permitted,
                   std::string("this owner is another user's; ") + kAdminRemedy);
  }
  const std::vector<LaneView> lanes = question.inspection.lanes();
  const core::Core& core = question.inspection.core();
  const std::string text = sentence(*why, client, lane_name(why->owner.lane, lanes), question.now) +
                           class_sentence(*why, client);
  return document({{"owner", owner_json(why->owner, client, lanes, question.now)},
                   {"waits_for", wait_cause_name(why->cause)},
                   {"waits_for_quota", waits_for_quota(*why, client)},
                   {"quota", client == nullptr ? std::string() : client->quota.name},
                   {"text", text},
                   {"owners_ahead", why->owners_ahead},
                   {"lane_in_flight_bytes", why->lane_in_flight_bytes},
                   {"lane_window_bytes", why->lane_window_bytes},
                   {"lane_others_queued", why->lane_others_queued},
                   {"lane_reserved_bytes", why->lane_reserved_bytes},
                   {"class_in_flight_bytes", why->class_in_flight_bytes},
                   {"class_cap_bytes", why->class_cap_bytes},
                   {"client_in_flight_bytes", why->client_in_flight_bytes},
                   {"client_cap_bytes", why->client_cap_bytes},
                   {"aging_owed_bytes", why->aging_owed_bytes},
                   {"not_before_in_ns", until_ns(why->not_before, question.now)},
                   {"policy", policy_name(core.policy())}});
}

}  // namespace tentq::answers
