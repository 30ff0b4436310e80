// Writing calls. See codec.h; reading answers is in decode.cc.
#include "daemon/directory/codec.h"

#include <nlohmann/json.hpp>

#include "daemon/directory/base64.h"
#include "daemon/overloaded.h"

namespace tentq::directory {
namespace {

using Ordered = nlohmann::ordered_json;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

Request txn(Ordered compare, Ordered success, Ordered failure) {
  Ordered body = {{"compare", Ordered::array({std::move(compare)})},
                  {"success", Ordered::array({std::move(success)})}};
  if (!failure.is_null()) body["failure"] = Ordered::array({std::move(failure)});
  return {"/v3/kv/txn", body.dump()};
}

Request publish(const PublishName& call, std::string_view prefix) {
  const std::string key = to_base64(key_of(prefix, call.name));
  Ordered compare = {{"result", "EQUAL"}, {"key", key}};
  if (call.replaces == 0) {
    compare["target"] = "CREATE";
    compare["create_revision"] = "0";
  } else {
    compare["target"] = "MOD";
    compare["mod_revision"] = number(call.replaces);
  }
  Ordered put = {{"request_put",
                  {{"key", key},
                   {"value", to_base64(print_holder(call.holder))},
                   {"lease", number(call.lease)}}}};
  return txn(std::move(compare), std::move(put), {{"request_range", {{"key", key}}}});
}

Request withdraw(const WithdrawName& call, std::string_view prefix) {
  const std::string key = to_base64(key_of(prefix, call.name));
  return txn(
      {{"target", "LEASE"}, {"result", "EQUAL"}, {"key", key}, {"lease", number(call.lease)}},
      {{"request_delete_range", {{"key", key}}}}, nullptr);
}

Request list(const ListNames& call, std::string_view prefix) {
  // The next key behind a key is the key and a NUL.
  const std::string from =
      call.after.empty() ? key_of(prefix, "") : call.after + std::string(1, '\0');
  Ordered body = {{"key", to_base64(from)},
                  {"range_end", to_base64(end_of_keys(prefix))},
                  {"limit", number(kNamesAtOnce)}};
  if (call.revision != 0) body["revision"] = number(call.revision);
  return {"/v3/kv/range", body.dump()};
}

}  // namespace

Request encode(const Call& call, std::string_view prefix) {
  return std::visit(
      Overloaded{
          [](const GrantLease& c) -> Request {
            return {"/v3/lease/grant", Ordered{{"TTL", number(c.seconds)}}.dump()};
          },
          [](const KeepLease& c) -> Request {
            return {"/v3/lease/keepalive", Ordered{{"ID", number(c.lease)}}.dump()};
          },
          [](const RevokeLease& c) -> Request {
            return {"/v3/lease/revoke", Ordered{{"ID", number(c.lease)}}.dump()};
          },
          [&](const PublishName& c) { return publish(c, prefix); },
          [&](const WithdrawName& c) { return withdraw(c, prefix); },
          [&](const ListNames& c) { return list(c, prefix); },
          [&](const FindName& c) -> Request {
            return {"/v3/kv/range", Ordered{{"key", to_base64(key_of(prefix, c.name))}}.dump()};
          },
      },
      call);
}

Request encode_watch(std::string_view prefix, std::int64_t revision) {
  const Ordered body = {{"create_request",
                         {{"key", to_base64(key_of(prefix, ""))},
                          {"range_end", to_base64(end_of_keys(prefix))},
                          {"start_revision", number(revision)},
                          {"progress_notify", true}}}};
  return {"/v3/watch", body.dump()};
}

}  // namespace tentq::directory
