// Reading answers. See codec.h.
#include <algorithm>
#include <utility>

#include "daemon/directory/base64.h"
#include "daemon/directory/codec.h"
#include "daemon/directory/json.h"
#include "daemon/overloaded.h"

namespace tentq::directory {
namespace {

constexpr unsigned kOk = 200;
// Codes of gRPC.
constexpr std::int64_t kNotFound = 5;
constexpr std::int64_t kOutOfRange = 11;
constexpr std::int64_t kUnavailable = 14;
constexpr std::size_t kMostText = 256;

Failed failed(Fault fault, std::string_view text) {
  return {fault, {}, std::string(text.substr(0, kMostText))};
}
Failed malformed(std::string_view what) {
  return failed(Fault::refused, std::string("it is not what etcd answers: ").append(what));
}

// What the gateway says in place of an answer.
Failed refusal(const Json& json, unsigned status, bool about_lease) {
  std::string_view text = text_of(json, "message");
  if (text.empty()) text = text_of(json, "error");
  const std::int64_t code = number_of<std::int64_t>(json, "code").value_or(0);
  if (text.empty()) return malformed("HTTP status " + std::to_string(status));
  if (about_lease && code == kNotFound) return failed(Fault::lease_lost, text);
  if (code == kOutOfRange) return failed(Fault::compacted, text);
  // A member without a leader, or about to stop: another one may know better.
  return failed(code == kUnavailable ? Fault::unreachable : Fault::refused, text);
}

// A key and its value, of which the value may be no entry.
struct Pair {
  std::string key;
  std::int64_t modified = 0;
  std::optional<Entry> entry;
};
std::optional<Pair> pair_of(const Json& kv, std::string_view prefix) {
  const auto key = from_base64(text_of(kv, "key"));
  const auto value = from_base64(text_of(kv, "value"));
  const auto lease = number_of<std::int64_t>(kv, "lease");
  const auto modified = number_of<std::int64_t>(kv, "mod_revision");
  if (!key || key->empty() || !value || !lease || !modified || *modified < 0) return {};
  Pair pair{*key, *modified, {}};
  const auto name = name_of(prefix, *key);
  const auto holder = parse_holder(*value);
  if (name && holder) pair.entry = Entry{*name, *holder, *lease, *modified};
  return pair;
}

// What `range` found; nothing when it cannot be read.
std::optional<std::vector<Pair>> pairs_of(const Json& range, std::string_view prefix) {
  std::vector<Pair> pairs;
  const Json* list = member_of(range, "kvs");
  if (list == nullptr) return pairs;
  if (!list->is_array() || list->size() > kNamesAtOnce) return {};
  for (const Json& kv : *list) {
    std::optional<Pair> pair = pair_of(kv, prefix);
    if (!pair) return {};
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

struct Header {
  std::uint64_t cluster = 0;
  std::int64_t revision = 0;
};
// Nothing when there is none.
std::optional<Header> header_of(const Json& json) {
  const Json* header = member_of(json, "header");
  if (header == nullptr || !header->is_object()) return {};
  const auto cluster = number_of<std::uint64_t>(*header, "cluster_id");
  const auto revision = number_of<std::int64_t>(*header, "revision");
  if (!cluster || !revision || *revision < 0) return {};
  return Header{*cluster, *revision};
}

// Of a grant, or inside the one message of a keep-alive's stream.
Answer leased(const Json& json) {
  const auto lease = number_of<std::int64_t>(json, "ID");
  const auto seconds = number_of<std::int64_t>(json, "TTL");
  constexpr std::int64_t kMostSeconds = 9'000'000'000;  // etcd's own
  if (!header_of(json) || !lease || *lease == 0 || !seconds || *seconds > kMostSeconds) {
    return malformed("no lease");
  }
  return Leased{*lease, std::max<std::int64_t>(*seconds, 0)};
}

Answer kept(const Json& json) {
  if (const Json* error = member_of(json, "error")) return refusal(*error, kOk, true);
  const Json* result = member_of(json, "result");
  return result == nullptr ? malformed("no result") : leased(*result);
}

Answer published(const PublishName& call, const Json& json, std::string_view prefix) {
  if (!header_of(json)) return malformed("no header");
  const Json* done = member_of(json, "succeeded");
  if (done != nullptr && done->is_boolean() && done->get<bool>()) return Published{Claim::done, {}};
  const Json* responses = member_of(json, "responses");
  const Json* range = responses == nullptr || !responses->is_array() || responses->size() != 1
                          ? nullptr
                          : member_of(responses->front(), "response_range");
  if (range == nullptr) return malformed("no range in a transaction");
  const auto pairs = pairs_of(*range, prefix);
  if (!pairs || pairs->size() > 1) return malformed("a range of another key");
  if (pairs->empty()) return Published{Claim::vacant, {}};
  if (pairs->front().key != key_of(prefix, call.name)) return malformed("a range of another key");
  return Published{Claim::held, pairs->front().entry};
}

Answer listed(const ListNames& call, const Json& json, std::string_view prefix) {
  const auto header = header_of(json);
  const auto pairs = pairs_of(json, prefix);
  if (!header || !pairs) return malformed("no range");
  Listed answer{header->cluster, header->revision, {}, call.after, false};
  const std::string end = end_of_keys(prefix);
  for (const Pair& pair : *pairs) {
    // Forwards only: a listing must end.
    if (pair.key <= answer.last || pair.key >= end) return malformed("a range of other keys");
    answer.last = pair.key;
    if (pair.entry) answer.entries.push_back(*pair.entry);
  }
  const Json* more = member_of(json, "more");
  answer.more = !pairs->empty() && more != nullptr && more->is_boolean() && more->get<bool>();
  return answer;
}

Answer found(const FindName& call, const Json& json, std::string_view prefix) {
  const auto pairs = pairs_of(json, prefix);
  if (!header_of(json) || !pairs) return malformed("no range");
  if (pairs->empty()) return Found{};
  if (pairs->size() != 1 || pairs->front().key != key_of(prefix, call.name)) {
    return malformed("a range of another key");
  }
  return Found{pairs->front().entry};
}

// Nothing when it cannot be read; a change without a name is of a key that is no segment's.
std::optional<Change> change_of(const Json& event, std::string_view prefix,
                                std::int64_t* revision) {
  const Json* kv = member_of(event, "kv");
  const std::string_view type = text_of(event, "type");  // left out for PUT
  if (kv == nullptr || (!type.empty() && type != "PUT" && type != "DELETE")) return {};
  std::optional<Pair> pair = pair_of(*kv, prefix);
  if (!pair) return {};
  *revision = pair->modified;
  if (type == "DELETE") pair->entry.reset();
  return Change{name_of(prefix, pair->key).value_or(""), std::move(pair->entry)};
}

void add_changes(const Json& result, const Header& header, std::string_view prefix,
                 std::vector<WatchNews>* news) {
  const Json* events = member_of(result, "events");
  // Without any: word of how far it is.
  if (events == nullptr) return news->push_back(Changes{header.revision, {}});
  if (!events->is_array()) return news->push_back(malformed("events of another type"));
  // The header has etcd's revision now, and more events may follow that are older. Only the last
  // batch of a line ends a revision.
  Changes batch;
  std::int64_t revision = 0;
  for (const Json& event : *events) {
    std::optional<Change> change = change_of(event, prefix, &revision);
    if (!change) return news->push_back(malformed("an event of another type"));
    if (change->name.empty()) continue;
    if (batch.changes.size() == kNamesAtOnce) {
      news->push_back(std::exchange(batch, Changes{}));
    }
    batch.changes.push_back(std::move(*change));
  }
  batch.revision = revision;
  news->push_back(std::move(batch));
}

}  // namespace

Answer decode(const Call& call, std::string_view prefix, unsigned status, std::string_view body) {
  const Json json = parse_json(body);
  if (!json.is_object()) return malformed("no JSON, HTTP status " + std::to_string(status));
  if (status != kOk) {
    const bool about_lease = std::holds_alternative<KeepLease>(call) ||
                             std::holds_alternative<RevokeLease>(call) ||
                             std::holds_alternative<PublishName>(call);
    return refusal(json, status, about_lease);
  }
  return std::visit(Overloaded{
                        [&](const GrantLease&) { return leased(json); },
                        [&](const KeepLease&) { return kept(json); },
                        [&](const RevokeLease&) -> Answer {
                          return header_of(json) ? Answer{Revoked{}} : malformed("no header");
                        },
                        [&](const PublishName& c) { return published(c, json, prefix); },
                        [&](const WithdrawName&) -> Answer {
                          return header_of(json) ? Answer{Withdrawn{}} : malformed("no header");
                        },
                        [&](const ListNames& c) { return listed(c, json, prefix); },
                        [&](const FindName& c) { return found(c, json, prefix); },
                    },
                    call);
}

std::vector<WatchNews> decode_watch(std::string_view prefix, std::string_view line) {
  std::vector<WatchNews> news;
  const Json json = parse_json(line);
  const Json* error = member_of(json, "error");
  const Json* result = member_of(json, "result");
  if (error != nullptr) return {refusal(*error, kOk, false)};
  if (result == nullptr) return {malformed("a line without a result")};
  const auto header = header_of(*result);
  const auto compacted = number_of<std::int64_t>(*result, "compact_revision");
  if (!header || !compacted) return {malformed("a result without a header")};
  if (*compacted != 0) return {failed(Fault::compacted, "the revision has been compacted")};
  const Json* canceled = member_of(*result, "canceled");
  if (canceled != nullptr && canceled->is_boolean() && canceled->get<bool>()) {
    const std::string_view why = text_of(*result, "cancel_reason");
    return {failed(Fault::refused, why.empty() ? "etcd ended the watch" : why)};
  }
  const Json* created = member_of(*result, "created");
  if (created != nullptr && created->is_boolean() && created->get<bool>()) {
    news.push_back(WatchBegan{header->cluster, header->revision});
    return news;
  }
  add_changes(*result, *header, prefix, &news);
  return news;
}

}  // namespace tentq::directory
