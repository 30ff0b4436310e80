// What goes to etcd's gateway byte for byte, and what is made of answers: those of a real etcd, and
// those that none would give.
#include "daemon/directory/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "daemon/directory/base64.h"

namespace tentq::directory {
namespace {

constexpr const char* kPrefix = "/tentq";
constexpr const char* kHeader =
    R"("header":{"cluster_id":"324","member_id":"3319","revision":"12","raft_term":"2"})";
const Holder kHolder{"10.0.0.2:7471", std::string(32, 'a'), 3, 18'000'000'000'000'000'000u};

std::string object(const std::string& members) {
  return "{" + std::string(kHeader) + (members.empty() ? "" : "," + members) + "}";
}
std::string kv(const std::string& key, const std::string& value, const std::string& lease = "77") {
  return R"({"key":")" + to_base64(key) +
         R"(","create_revision":"5","mod_revision":"9","version":"1","value":")" +
         to_base64(value) + R"(","lease":")" + lease + R"("})";
}
std::string store_kv() {
  return kv("/tentq/segments/store", print_holder(kHolder));
}

template <class T>
T read(const Call& call, const std::string& body, unsigned status = 200) {
  const Answer answer = decode(call, kPrefix, status, body);
  const T* read = std::get_if<T>(&answer);
  if (read == nullptr) throw std::runtime_error("another kind of answer: " + body);
  return *read;
}
Fault fault_of(const Call& call, const std::string& body, unsigned status = 200) {
  return read<Failed>(call, body, status).fault;
}

const Call kPublish = PublishName{"store", kHolder, 77, 0};

TEST(DirectoryCodec, CallsAreWhatTheGatewayTakes) {
  EXPECT_EQ(encode(GrantLease{10}, kPrefix).path, "/v3/lease/grant");
  EXPECT_EQ(encode(GrantLease{10}, kPrefix).body, R"({"TTL":"10"})");
  EXPECT_EQ(encode(KeepLease{77}, kPrefix).body, R"({"ID":"77"})");
  EXPECT_EQ(encode(RevokeLease{77}, kPrefix).path, "/v3/lease/revoke");
  const std::string key = to_base64("/tentq/segments/store");
  EXPECT_EQ(encode(FindName{"store"}, kPrefix).body, R"({"key":")" + key + R"("})");
  const std::string publish = encode(kPublish, kPrefix).body;
  EXPECT_NE(publish.find(R"("target":"CREATE","create_revision":"0")"), std::string::npos)
      << publish;
  EXPECT_NE(publish.find(R"("lease":"77")"), std::string::npos) << publish;
  const std::string replace = encode(PublishName{"store", kHolder, 77, 9}, kPrefix).body;
  EXPECT_NE(replace.find(R"("target":"MOD","mod_revision":"9")"), std::string::npos) << replace;
  const std::string withdraw = encode(WithdrawName{"store", 77}, kPrefix).body;
  EXPECT_NE(withdraw.find(R"("target":"LEASE")"), std::string::npos) << withdraw;
  // All names: from PREFIX/segments/ up to what follows it.
  const std::string list = encode(ListNames{}, kPrefix).body;
  EXPECT_NE(list.find(to_base64("/tentq/segments/")), std::string::npos) << list;
  EXPECT_NE(list.find(to_base64("/tentq/segments0")), std::string::npos) << list;
  EXPECT_EQ(encode_watch(kPrefix, 13).path, "/v3/watch");
  EXPECT_NE(encode_watch(kPrefix, 13).body.find(R"("start_revision":"13")"), std::string::npos);
}

TEST(DirectoryCodec, AnswersOfEtcdAreRead) {
  const Leased granted = read<Leased>(GrantLease{5}, object(R"("ID":"2324","TTL":"5")"));
  EXPECT_EQ(granted.lease, 2324);
  EXPECT_EQ(granted.seconds, 5);
  const std::string kept = R"({"result":)" + object(R"("ID":"2324","TTL":"20")") + "}\n";
  EXPECT_EQ(read<Leased>(KeepLease{2324}, kept).seconds, 20);
  const std::string lost = R"({"result":)" + object(R"("ID":"77")") + "}\n";
  EXPECT_EQ(read<Leased>(KeepLease{77}, lost).seconds, 0);
  read<Revoked>(RevokeLease{77}, object(""));
  const std::string done = R"("succeeded":true,"responses":[{"response_put":{}}])";
  EXPECT_EQ(read<Published>(kPublish, object(done)).claim, Claim::done);
  const auto held = read<Published>(
      kPublish, object(R"("responses":[{"response_range":{"kvs":[)" + store_kv() + "]}}]"));
  EXPECT_EQ(held.claim, Claim::held);
  ASSERT_TRUE(held.holder.has_value());
  EXPECT_EQ(held.holder->holder, kHolder);
  EXPECT_EQ(held.holder->lease, 77);
  EXPECT_EQ(held.holder->modified, 9);
  EXPECT_EQ(
      read<Published>(kPublish, object(R"("responses":[{"response_range":{"count":"0"}}])")).claim,
      Claim::vacant);
  const Listed listed =
      read<Listed>(ListNames{}, object(R"("kvs":[)" + store_kv() + R"(],"more":true,"count":"9")"));
  EXPECT_EQ(listed.cluster, 324u);
  EXPECT_EQ(listed.revision, 12);
  EXPECT_TRUE(listed.more);
  EXPECT_EQ(listed.last, "/tentq/segments/store");
  ASSERT_EQ(listed.entries.size(), 1u);
  EXPECT_EQ(listed.entries[0].name, "store");
  EXPECT_FALSE(read<Found>(FindName{"store"}, object("")).entry.has_value());
  EXPECT_TRUE(
      read<Found>(FindName{"store"}, object(R"("kvs":[)" + store_kv() + "]")).entry.has_value());
}

TEST(DirectoryCodec, RefusalsAreToldApart) {
  const std::string no_lease =
      R"({"error":"etcdserver: requested lease not found","message":"etcdserver: requested lease not found","code":5})";
  EXPECT_EQ(fault_of(kPublish, no_lease, 404), Fault::lease_lost);
  EXPECT_EQ(fault_of(RevokeLease{1}, no_lease, 404), Fault::lease_lost);
  EXPECT_EQ(fault_of(ListNames{}, no_lease, 404), Fault::refused);
  EXPECT_EQ(fault_of(ListNames{}, R"({"error":"mvcc: compacted","code":11})", 400),
            Fault::compacted);
  EXPECT_EQ(fault_of(kPublish, R"({"error":"etcdserver: no leader","code":14})", 503),
            Fault::unreachable);
  EXPECT_EQ(read<Failed>(kPublish, R"({"message":"user name is empty","code":3})", 400).text,
            "user name is empty");
  EXPECT_EQ(fault_of(kPublish, "<html>502 Bad Gateway</html>", 502), Fault::refused);
}

TEST(DirectoryCodec, AWatchIsReadLineByLine) {
  const auto began = decode_watch(kPrefix, R"({"result":)" + object(R"("created":true)") + "}");
  ASSERT_EQ(began.size(), 1u);
  EXPECT_EQ(std::get<WatchBegan>(began[0]).revision, 12);
  const std::string events = R"("events":[{"kv":)" + store_kv() +
                             R"(},{"type":"DELETE","kv":{"key":")" +
                             to_base64("/tentq/segments/old") + R"(","mod_revision":"10"}}])";
  const auto changed = decode_watch(kPrefix, R"({"result":)" + object(events) + "}");
  ASSERT_EQ(changed.size(), 1u);
  const Changes& changes = std::get<Changes>(changed[0]);
  // Not the header's: older ones may follow.
  EXPECT_EQ(changes.revision, 10);
  ASSERT_EQ(changes.changes.size(), 2u);
  EXPECT_EQ(changes.changes[0].entry->holder, kHolder);
  EXPECT_EQ(changes.changes[1].name, "old");
  EXPECT_FALSE(changes.changes[1].entry.has_value());
  const auto progress = decode_watch(kPrefix, R"({"result":)" + object("") + "}");
  EXPECT_EQ(std::get<Changes>(progress.at(0)).revision, 12);
  const auto compacted = decode_watch(
      kPrefix, R"({"result":)" + object(R"("canceled":true,"compact_revision":"30")") + "}");
  EXPECT_EQ(std::get<Failed>(compacted.at(0)).fault, Fault::compacted);
  const auto canceled = decode_watch(
      kPrefix, R"({"result":)" +
                   object(R"("created":true,"canceled":true,"cancel_reason":"permission denied")") +
                   "}");
  EXPECT_EQ(std::get<Failed>(canceled.at(0)).text, "permission denied");
}

TEST(DirectoryCodec, ManyChangesComeInPieces) {
  std::string events;
  for (int i = 0; i < 600; ++i) {
    events += std::string(events.empty() ? "" : ",") + R"({"kv":)" +
              kv("/tentq/segments/s" + std::to_string(i), print_holder(kHolder)) + "}";
  }
  const auto news =
      decode_watch(kPrefix, R"({"result":)" + object(R"("events":[)" + events + "]") + "}");
  ASSERT_EQ(news.size(), 3u);
  EXPECT_EQ(std::get<Changes>(news[0]).changes.size(), kNamesAtOnce);
  EXPECT_EQ(std::get<Changes>(news[0]).revision, 0);
  EXPECT_EQ(std::get<Changes>(news[2]).changes.size(), 600 - 2 * kNamesAtOnce);
  EXPECT_EQ(std::get<Changes>(news[2]).revision, 9);
}

TEST(DirectoryCodec, HostileAnswersAreFailures) {
  const std::string deep = std::string(1'000'000, '[');
  const std::string far = kv("/tentq/segments0", print_holder(kHolder));
  for (const std::string& body :
       {std::string(),
        std::string("null"),
        std::string("[]"),
        std::string("{"),
        deep,
        R"({"header":)" + deep,
        std::string("{}"),
        std::string("\xff\xfe{}"),
        std::string(R"({"header":{"revision":"-1"}})"),
        std::string(R"({"header":{"revision":"99999999999999999999"}})"),
        std::string(R"({"header":{"revision":1.5}})"),
        std::string(R"({"header":7})"),
        object(R"("kvs":7)"),
        object(R"("kvs":[7])"),
        object(R"("kvs":[{}])"),
        object(R"("kvs":[{"key":"%%%%","value":""}])"),
        object(R"("kvs":[{"key":"AA==","value":"AA=","mod_revision":"1"}])"),
        object(R"("kvs":[)" + store_kv() + "," + store_kv() + "]"),
        object(R"("kvs":[)" + far + "]"),
        object(R"("kvs":[{"key":"AA==","mod_revision":"-4"}])")}) {
    EXPECT_EQ(fault_of(ListNames{}, body), Fault::refused) << body.substr(0, 100);
    EXPECT_EQ(fault_of(KeepLease{1}, body), Fault::refused) << body.substr(0, 100);
  }
  EXPECT_EQ(fault_of(GrantLease{1}, object(R"("ID":"0","TTL":"5")")), Fault::refused);
  EXPECT_EQ(fault_of(GrantLease{1}, object(R"("ID":"5","TTL":"99999999999999")")), Fault::refused);
  EXPECT_EQ(fault_of(FindName{"other"}, object(R"("kvs":[)" + store_kv() + "]")), Fault::refused);
  EXPECT_EQ(fault_of(kPublish, object(R"("responses":[])")), Fault::refused);
  // A listing must go on, or it never ends.
  EXPECT_EQ(
      fault_of(ListNames{"/tentq/segments/store", 1}, object(R"("kvs":[)" + store_kv() + "]")),
      Fault::refused);
  for (const std::string& line :
       {std::string(), std::string("{}"), deep, std::string(R"({"result":7})"),
        R"({"result":)" + object(R"("events":[{}])") + "}",
        R"({"result":)" + object(R"("events":{"a":1})") + "}", std::string(R"({"error":"x"})")}) {
    const auto news = decode_watch(kPrefix, line);
    ASSERT_EQ(news.size(), 1u) << line.substr(0, 100);
    EXPECT_TRUE(std::holds_alternative<Failed>(news[0])) << line.substr(0, 100);
  }
}

// Others write there too: what is no entry is none, and the rest is read.
TEST(DirectoryCodec, ForeignKeysAndValuesAreNoEntries) {
  const std::string address = R"({"address":"no address","host":")" + std::string(32, 'a') +
                              R"(","epoch_counter":"1","epoch_random":"1"})";
  const Listed listed = read<Listed>(
      ListNames{},
      object(R"("kvs":[)" + kv("/tentq/segments/a/b", print_holder(kHolder)) + "," +
             kv("/tentq/segments/b", "garbage") + "," + kv("/tentq/segments/c", address) + "," +
             kv("/tentq/segments/d", std::string(100'000, 'x')) + "," + store_kv() + "]"));
  ASSERT_EQ(listed.entries.size(), 1u);
  EXPECT_EQ(listed.entries[0].name, "store");
  EXPECT_FALSE(parse_holder(R"({"address":"a:1","host":"A","epoch_counter":"1"})").has_value());
  EXPECT_EQ(parse_holder(print_holder(kHolder)), kHolder);
}

RC_GTEST_PROP(DirectoryCodec, Base64ComesBack, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

RC_GTEST_PROP(DirectoryCodec, AnyTextIsRead, (std::string text)) {
  from_base64(text);
  parse_holder(text);
  decode(ListNames{}, kPrefix, 200, text);
  decode(KeepLease{}, kPrefix, 200, R"({"result":)" + text + "}");
  decode_watch(kPrefix, R"({"result":{"events":)" + text + "}}");
}

// An answer of etcd with a few bytes changed.
RC_GTEST_PROP(DirectoryCodec, DamagedAnswersAreReadOrFail, ()) {
  std::string body = object(R"("kvs":[)" + store_kv() + R"(],"more":true)");
  const auto places = *rc::gen::container<std::vector<std::size_t>>(
      3, rc::gen::inRange<std::size_t>(0, body.size()));
  for (const std::size_t place : places) body[place] = *rc::gen::arbitrary<char>();
  const Answer answer = decode(ListNames{}, kPrefix, 200, body);
  RC_ASSERT(std::holds_alternative<Listed>(answer) || std::holds_alternative<Failed>(answer));
}

}  // namespace
}  // namespace tentq::directory
