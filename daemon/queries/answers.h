// One function for each kind of query, and what they share. Private to daemon/queries.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/queries/queries.h"

namespace tentq::answers {

using Json = nlohmann::ordered_json;

// The words of Query::argument.
using Arguments = std::map<std::string, std::string, std::less<>>;

// What an answer is made from.
struct Question {
  Arguments arguments;
  const Inspection& inspection;
  const ErrorBook& errors;
  Caller caller;
  Time now;

  // The value of an argument, or empty.
  std::string_view argument(std::string_view name) const;
  // Whether the caller may see this client's rows.
  bool may_see(const ClientView& client) const;
};

QueryAnswer document(const Json& json);
QueryAnswer refusal(StatusCode status, std::string text);

// Ages and distances in nanoseconds; 0 for what is in the future (or the past) and for "never".
std::uint64_t age_ns(Time then, Time now);
std::uint64_t until_ns(Time then, Time now);
double seconds(Duration duration);

std::string_view policy_name(core::Policy policy);
std::string_view owner_state_name(core::OwnerState state);
std::string_view daemon_state_name(DaemonState state);
std::string_view wait_cause_name(core::WaitCause cause);
std::optional<core::OwnerState> owner_state_of(std::string_view name);

// Looked up by session id, for listings that name the client of each row.
class ClientIndex {
 public:
  explicit ClientIndex(std::vector<ClientView> clients);
  const ClientView* find(SessionId session) const;
  const std::vector<ClientView>& all() const { return clients_; }

 private:
  std::vector<ClientView> clients_;
};

QueryAnswer status(const Question& question);
QueryAnswer queue(const Question& question);
QueryAnswer clients(const Question& question);
QueryAnswer segments(const Question& question);
QueryAnswer lanes(const Question& question);
QueryAnswer peers(const Question& question);
QueryAnswer owners(const Question& question);
QueryAnswer explain(const Question& question);
QueryAnswer errors(const Question& question);

}  // namespace tentq::answers
