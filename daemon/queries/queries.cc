// Takes a query's words apart and calls the answer of its kind.
#include "daemon/queries/queries.h"

#include <algorithm>
#include <array>

#include "daemon/logging/log.h"
#include "daemon/queries/answers.h"

namespace tentq {
namespace {

struct Kind {
  QueryKind kind;
  QueryAnswer (*answer)(const answers::Question&);
  std::vector<std::string_view> arguments;
};

const Kind* find_kind(QueryKind kind) {
  static const std::array<Kind, 9> kinds = {{
      {QueryKind::status, answers::status, {}},
      {QueryKind::queue, answers::queue, {"by"}},
      {QueryKind::clients, answers::clients, {}},
      {QueryKind::segments, answers::segments, {"of"}},
      {QueryKind::lanes, answers::lanes, {}},
      {QueryKind::owners, answers::owners, {"client", "state", "most"}},
      {QueryKind::explain, answers::explain, {"owner"}},
      {QueryKind::errors, answers::errors, {}},
      {QueryKind::peers, answers::peers, {}},
  }};
  for (const Kind& known : kinds) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

// Empty: all words are known and given once.
std::string read_arguments(std::string_view text, const Kind& kind, answers::Arguments* out) {
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    const auto equals = std::min(word.find('='), word.size());
    const std::string name(word.substr(0, equals));
    const bool known =
        std::find(kind.arguments.begin(), kind.arguments.end(), name) != kind.arguments.end();
    if (!known || equals + 1 >= word.size()) {
      std::string expected = "bad argument `" + escaped(word, 64) + "`; this query takes ";
      if (kind.arguments.empty()) return expected + "none";
      for (const std::string_view argument : kind.arguments) {
        expected.append(argument).append("=… ");
      }
      expected.pop_back();
      return expected;
    }
    if (!out->emplace(name, word.substr(equals + 1)).second) {
      return "argument `" + name + "` is given twice";
    }
  }
  return {};
}

}  // namespace

QueryAnswer answer_query(const Query& query, const Inspection& inspection, const ErrorBook& errors,
                         const Caller& caller) {
  const Kind* kind = find_kind(query.kind);
  if (kind == nullptr) {
    return answers::refusal(StatusCode::invalid_argument,
                            "unknown kind of query " +
                                std::to_string(static_cast<std::uint32_t>(query.kind)) +
                                "; is tentqctl newer than tentqd?");
  }
  answers::Question question{{}, inspection, errors, caller, inspection.now()};
  std::string wrong = read_arguments(query.argument.view(), *kind, &question.arguments);
  if (!wrong.empty()) return answers::refusal(StatusCode::invalid_argument, std::move(wrong));
  return kind->answer(question);
}

namespace answers {

std::string_view Question::argument(std::string_view name) const {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string_view() : std::string_view(found->second);
}

bool Question::may_see(const ClientView& client) const {
  if (caller.admin || client.uid == caller.uid) return true;
  return caller.own.valid() && client.session == caller.own;
}

QueryAnswer document(const Json& json) {
  QueryAnswer answer;
  // Replaces what is not UTF-8 instead of throwing.
  answer.document = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return answer;
}

QueryAnswer refusal(StatusCode status, std::string text) {
  return {status, {}, std::move(text)};
}

std::uint64_t age_ns(Time then, Time now) {
  if (then == kNever || then >= now) return 0;
  return static_cast<std::uint64_t>((now - then).count());
}

std::uint64_t until_ns(Time then, Time now) {
  if (then == kNever || then <= now) return 0;
  return static_cast<std::uint64_t>((then - now).count());
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

ClientIndex::ClientIndex(std::vector<ClientView> clients) : clients_(std::move(clients)) {
  std::sort(clients_.begin(), clients_.end(),
            [](const ClientView& a, const ClientView& b) { return a.session < b.session; });
}

const ClientView* ClientIndex::find(SessionId session) const {
  const auto found = std::lower_bound(
      clients_.begin(), clients_.end(), session,
      [](const ClientView& client, SessionId wanted) { return client.session < wanted; });
  return found != clients_.end() && found->session == session ? &*found : nullptr;
}

}  // namespace answers
}  // namespace tentq
