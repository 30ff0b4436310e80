// Quotas: every limit, above the highest class, many sessions, changes while it runs, deaths.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/pattern.h"
#include "tests/support/program.h"
#include "tests/support/role.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals
using nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Quotas : public DaemonFixture {
 protected:
  // Lanes of 1 MiB/s for what is larger than a chunk: it stays outstanding as long as a test looks.
  void start_slow(json quotas, const json& more = json::object()) {
    json config = narrow_lanes();
    config["shm"]["paced_bytes_per_second"] = "1MiB";
    config["quotas"] = std::move(quotas);
    config.merge_patch(more);
    start(config);
  }
  void start_with(json quotas) { start({{"quotas", std::move(quotas)}}); }
  // SIGHUP with these quotas in the file; waits until they are in force.
  void reload(const json& quotas, const std::string& log_says) {
    daemon().configure({{"quotas", quotas}});
    const std::size_t before = daemon().log().size();
    daemon().signal(SIGHUP);
    ASSERT_TRUE(eventually(kLong, [&] {
      return daemon().log().find(log_says, before) != std::string::npos;
    })) << daemon().log();
  }
  json quota_row(const std::string& client) const { return client_row(client).at("quota"); }
};

// A client that writes into its own segment: `owners` requests that do not merge.
struct Self {
  Self(const std::string& socket, const std::string& name, std::vector<Class> classes = {})
      : Self([&] {
          ConnectOptions options = connection(socket, name);
          options.classes = std::move(classes);
          return options;
        }()) {}
  explicit Self(const ConnectOptions& options)
      : client(attach(options)),
        memory(allocate_at(client, 2_MiB)),
        own(need(client.open_segment(options.name), "open_segment")) {}

  // Not adjacent, so that they do not merge; many of large ones share their places.
  std::vector<Request> requests(std::size_t owners, std::size_t bytes = 64) {
    std::vector<Request> made;
    for (std::size_t i = 0; i < owners; ++i) {
      const std::size_t at = 2 * bytes * i % 1_MiB;
      made.push_back(write_to(own, 1_MiB + at, memory.bytes().subspan(at, bytes)));
    }
    return made;
  }
  // Submits single owners of 64 KiB, which take their time, until one is refused.
  Status fill(Batch& batch) {
    const std::vector<Request> one = requests(1, 64_KiB);
    while (batch.tasks() < 200) {
      Status status = client.submit_wait(batch, one, {}, std::chrono::milliseconds{5});
      if (!status.ok()) return status;
    }
    return {};
  }
  Status submit(Batch& batch, std::size_t owners, const SubmitOptions& options = {},
                std::size_t bytes = 64) {
    return client.submit(batch, requests(owners, bytes), options);
  }

  Client client;
  Memory memory;
  Segment own;
};

SubmitOptions in(Class cls) {
  SubmitOptions options;
  options.cls = cls;
  return options;
}

// --- classes
// --------------------------------------------------------------------------------------

TEST_F(Quotas, AboveTheHighestClassASubmitIsNotPermittedAndSaysWhy) {
  start_with({{{"client", "store-*"}, {"highest_class", "background_prefetch"}}});
  Self store(socket(), "store-0");
  EXPECT_EQ(store.client.limits().highest_class, Class::prefetch);
  EXPECT_EQ(store.client.limits().quota, "client:store-*");
  Batch batch = need(store.client.allocate_batch(8), "allocate_batch");
  for (const Class cls : {Class::foreground, Class::standard}) {
    const Status refused = store.submit(batch, 1, in(cls));
    EXPECT_EQ(refused.code(), Code::not_permitted) << refused.to_string();
    EXPECT_FALSE(refused.may_retry());
    EXPECT_TRUE(contains(refused.text(), "client:store-*")) << refused.text();
    EXPECT_TRUE(contains(refused.text(), "'prefetch'")) << refused.text();
    EXPECT_EQ(store.client.submit_wait(batch, store.requests(1), in(cls), kLong).code(),
              Code::not_permitted);
  }
  EXPECT_EQ(batch.tasks(), 0u);
  need(store.submit(batch, 1, in(Class::prefetch)), "prefetch");
  need(store.submit(batch, 1, in(Class::background)), "background");
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().completed, 2u);
  EXPECT_EQ(client_row("store-0").at("classes"), json({"prefetch", "background"}));
  EXPECT_EQ(quota_row("store-0").at("highest_class"), "prefetch");
  // Somebody else may.
  Self engine(socket(), "engine");
  must_complete(engine.client, engine.requests(1)[0], in(Class::foreground));
  EXPECT_TRUE(client_row("engine").at("quota").is_null());
}

TEST_F(Quotas, WhoAsksForNothingElseIsNotAttached) {
  start_with({{{"uid", ::geteuid()}, {"highest_class", "background"}}});
  ConnectOptions options = connection(socket(), "eager");
  options.classes = {Class::foreground};
  const Status refused = Client::connect(options).status();
  EXPECT_EQ(refused.code(), Code::not_permitted) << refused.to_string();
  EXPECT_FALSE(refused.may_retry());
  EXPECT_TRUE(contains(refused.text(), "uid:")) << refused.text();
  EXPECT_TRUE(contains(refused.text(), "background")) << refused.text();
}

TEST_F(Quotas, AboveTheHighestClassASubmitCanBeDowngraded) {
  start_slow({{{"client", "store-*"}, {"highest_class", "prefetch"}, {"over", "downgrade"}}});
  Self store(socket(), "store-0");
  Batch batch = need(store.client.allocate_batch(8), "allocate_batch");
  need(store.submit(batch, 3, in(Class::foreground), 64_KiB), "submit");
  const auto owners = [&] { return ask(QueryKind::owners).at("owners"); };
  ASSERT_TRUE(eventually(kLong, [&] { return !owners().empty(); }));
  const json rows = owners();
  for (const json& row : rows) EXPECT_EQ(row.at("class"), "prefetch");
  const json queue = ask(QueryKind::queue).at("classes");
  EXPECT_EQ(queue.at("foreground").at("depth"), 0);
  const std::string number = std::to_string(rows.back().at("owner").get<std::uint64_t>());
  const json why = ask(QueryKind::explain, "owner=" + number);
  EXPECT_TRUE(contains(why.at("text"), "highest that quota 'client:store-*' allows"))
      << why.dump(2);
  EXPECT_EQ(ask(QueryKind::status).at("downgraded_owners"), 3);
  EXPECT_EQ(client_row("store-0").at("downgraded_owners"), 3);
  EXPECT_EQ(client_row("store-0").at("downgraded_classes"), json({"foreground", "default"}));
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().completed, 3u);
  // With room to wait for, and only a class that it may not have.
  Self other(socket(), "store-1", {Class::foreground});
  must_complete(other.client, other.requests(1)[0], in(Class::foreground));
  EXPECT_EQ(client_row("store-1").at("classes"), json({"prefetch"}));
}

TEST_F(Quotas, DowngradedWorkSurvivesTheDaemonAndAnotherQuota) {
  start_slow(json::array());
  Self store(socket(), "store-0");
  fill_pattern(store.memory.bytes().first(1_MiB), 5);
  Batch batch = need(store.client.allocate_batch(4), "allocate_batch");
  need(store.submit(batch, 4, in(Class::foreground), 64_KiB), "submit");
  daemon().configure(
      {{"quotas",
        {{{"client", "store-*"}, {"highest_class", "prefetch"}, {"over", "downgrade"}}}}});
  daemon().kill();
  daemon().start();
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().completed, 4u);
  EXPECT_EQ(client_row("store-0").at("classes"), json({"prefetch", "background"}));
  EXPECT_GE(client_row("store-0").at("downgraded_owners"), 1);
}

// --- outstanding
// ----------------------------------------------------------------------------------

TEST_F(Quotas, OwnersOverTheQuotaAreTooManyAndTheTextNamesIt) {
  start_slow({{{"client", "store-*"}, {"owners", 10}}});
  Self store(socket(), "store-0");
  EXPECT_EQ(store.client.limits().owners, 10u);
  Batch batch = need(store.client.allocate_batch(300), "allocate_batch");
  const Status refused = store.fill(batch);
  EXPECT_EQ(refused.code(), Code::too_many_requests) << refused.to_string();
  EXPECT_TRUE(refused.may_retry());
  EXPECT_TRUE(contains(refused.text(), "the limit of quota 'client:store-*', 10 owners"))
      << refused.text();
  EXPECT_LE(quota_row("store-0").at("used_owners"), 10);
  // More than it all never fits.
  EXPECT_EQ(store.submit(batch, 11).code(), Code::too_large);
  // Others are not concerned.
  Self engine(socket(), "engine");
  Batch many = need(engine.client.allocate_batch(20), "allocate_batch");
  need(engine.client.submit(many, engine.requests(20, 64)), "twenty of another client");
  need(batch.wait(kLong), "wait");
  need(many.wait(kLong), "wait");
  need(store.client.submit_wait(batch, store.requests(10), {}, kLong), "ten again");
  need(batch.wait(kLong), "wait");
}

TEST_F(Quotas, BytesOverTheQuotaAreTooMany) {
  start_slow({{{"client", "store-*"}, {"bytes", "256KiB"}}});
  Self store(socket(), "store-0");
  EXPECT_EQ(store.client.limits().bytes, 256_KiB);
  Batch batch = need(store.client.allocate_batch(300), "allocate_batch");
  const Status refused = store.fill(batch);
  EXPECT_EQ(refused.code(), Code::too_many_requests) << refused.to_string();
  EXPECT_TRUE(contains(refused.text(), "client:store-*")) << refused.text();
  EXPECT_LE(quota_row("store-0").at("used_bytes"), 256_KiB);
  EXPECT_EQ(store.submit(batch, 5, {}, 64_KiB).code(), Code::too_large);
  need(batch.wait(kLong), "wait");
}

TEST_F(Quotas, AQuotaOfNothingAdmitsNothing) {
  start_with({{{"client", "guest"}, {"owners", 0}}});
  Self guest(socket(), "guest");
  Batch batch = need(guest.client.allocate_batch(1), "allocate_batch");
  const Status refused = guest.submit(batch, 1);
  EXPECT_EQ(refused.code(), Code::too_large) << refused.to_string();
  EXPECT_FALSE(refused.may_retry());
  EXPECT_EQ(counters().at("enqueued"), 0);
}

// The session limit, and the share of one session of it, gain nothing by being many.
TEST_F(Quotas, FiftySessionsHaveNoMoreThanOne) {
  start_slow({{{"client", "store-*"}, {"owners", 20}, {"pinned_bytes", "110MiB"}}});
  std::vector<std::unique_ptr<Self>> sessions;
  std::vector<Batch> batches;
  for (int i = 0; i < 50; ++i) {
    sessions.push_back(std::make_unique<Self>(socket(), "store-" + std::to_string(i)));
    batches.push_back(need(sessions.back()->client.allocate_batch(300), "allocate_batch"));
  }
  std::size_t admitted = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    EXPECT_EQ(sessions[i]->fill(batches[i]).code(), Code::too_many_requests);
    admitted += batches[i].tasks();
  }
  // What completed meanwhile, at 16 a second, may have been replaced.
  const auto completed = counters().at("completed").get<std::size_t>();
  EXPECT_LE(admitted, 20 + completed);
  EXPECT_GE(admitted, 20u);
  EXPECT_LE(quota_row("store-7").at("used_owners"), 20);
  EXPECT_EQ(quota_row("store-0").at("used_pinned_bytes"), 100_MiB);
  EXPECT_EQ(client_row("store-0").at("fairness_key"), client_row("store-49").at("fairness_key"));
  // Also in memory: 10 MiB are left, wherever they are asked for.
  EXPECT_EQ(sessions[3]->client.allocate(11_MiB).status().code(), Code::exhausted);
  for (std::size_t i = 0; i < batches.size(); ++i) need(batches[i].wait(kLong), "wait");
}

TEST_F(Quotas, AUsersControlGroupsAndNamesShareWhatIsSaidToBeForAll) {
  start_with(
      {{{"client", "a*"}, {"per", "all"}, {"owners", 5}}, {{"uid", ::geteuid()}, {"weight", 2}}});
  Self a(socket(), "a0");
  Self other(socket(), "b0");
  EXPECT_EQ(quota_row("a0").at("per"), "all");
  EXPECT_NE(client_row("a0").at("fairness_key"), client_row("b0").at("fairness_key"));
  EXPECT_EQ(client_row("b0").at("weight"), 2);
}

// --- in flight
// ------------------------------------------------------------------------------------

TEST_F(Quotas, InFlightBytesAreCappedAndExplainNamesTheQuota) {
  json wide;
  wide["shm"] = {{"window_bytes", "1MiB"}, {"window_chunks", 64}};
  start_slow({{{"client", "store-*"}, {"in_flight_bytes", "16KiB"}}}, wide);
  Self store(socket(), "store-0");
  Batch batch = need(store.client.allocate_batch(32), "allocate_batch");
  need(store.client.submit_wait(batch, store.requests(32, 64_KiB), {}, kLong), "submit");
  json why;
  ASSERT_TRUE(eventually(kLong, [&] {
    const json rows = ask(QueryKind::owners).at("owners");
    for (const json& row : rows) {
      try {
        why = ask(QueryKind::explain,
                  "owner=" + std::to_string(row.at("owner").get<std::uint64_t>()));
      } catch (const std::runtime_error&) {
        continue;  // it has ended
      }
      if (why.at("waits_for") == "client_cap") return true;
    }
    return false;
  })) << why.dump(2);
  EXPECT_TRUE(why.at("waits_for_quota"));
  EXPECT_EQ(why.at("quota"), "client:store-*");
  EXPECT_TRUE(contains(why.at("text"), "`in_flight_bytes` of quota 'client:store-*'"))
      << why.dump(2);
  EXPECT_EQ(why.at("client_cap_bytes"), 16_KiB);
  const json lanes = ask(QueryKind::lanes).at("lanes");
  for (const json& lane : lanes) {
    EXPECT_LE(lane.at("in_flight_bytes"), 16_KiB);
  }
  need(batch.wait(kLong), "wait");
  EXPECT_EQ(batch.overall().completed, 32u);
}

// --- pinned
// ---------------------------------------------------------------------------------------

TEST_F(Quotas, PinnedBytesAreRefusedAndGivenBack) {
  start_with({{{"client", "store-*"}, {"pinned_bytes", "8MiB"}}});
  Client client = attach(socket(), "store-0");
  const Status larger = client.allocate(9_MiB).status();
  EXPECT_EQ(larger.code(), Code::too_large) << larger.to_string();
  EXPECT_FALSE(larger.may_retry());
  EXPECT_TRUE(contains(larger.text(), "client:store-*")) << larger.text();
  {
    Memory memory = allocate_at(client, 8_MiB);
    const Status full = client.allocate(4_KiB).status();
    EXPECT_EQ(full.code(), Code::exhausted) << full.to_string();
    EXPECT_TRUE(full.may_retry());
    EXPECT_TRUE(contains(full.text(), "pinned_bytes")) << full.text();
    EXPECT_EQ(quota_row("store-0").at("used_pinned_bytes"), 8_MiB);
    // A second session has the same quota.
    Client second = attach(socket(), "store-1");
    EXPECT_EQ(second.allocate(4_KiB).status().code(), Code::exhausted);
  }
  // Unregistered.
  EXPECT_TRUE(eventually(kLong, [&] { return quota_row("store-0").at("used_pinned_bytes") == 0; }));
  Memory again = allocate_at(client, 8_MiB);
}

TEST_F(Quotas, PinnedBytesComeBackWithTheSession) {
  start_with({{{"client", "store-*"}, {"pinned_bytes", "8MiB"}}});
  Client watcher = attach(socket(), "store-watch");
  for (int i = 0; i < 5; ++i) {
    Client client = attach(socket(), "store-0");
    Memory memory = allocate_at(client, 8_MiB);
    EXPECT_EQ(quota_row("store-watch").at("used_pinned_bytes"), 8_MiB);
    if (i % 2 == 0) continue;
    Client moved = std::move(client);
  }
  EXPECT_TRUE(
      eventually(kLong, [&] { return quota_row("store-watch").at("used_pinned_bytes") == 0; }));
}

TEST_F(Quotas, ADeadClientsShareIsThereForTheNext) {
  start_slow({{{"client", "store-*"}, {"owners", 10}, {"pinned_bytes", "8MiB"}}});
  for (int i = 0; i < 3; ++i) {
    Role victim("victim", std::chrono::seconds{60}, [&](RoleChannel& channel) {
      Self store(socket(), "store-0");
      Memory rest = allocate_at(store.client, 6_MiB, 1_GiB);
      Batch batch = need(store.client.allocate_batch(10), "allocate_batch");
      need(store.client.submit_wait(batch, store.requests(10, 32_KiB), {}, kLong), "submit");
      channel.send(std::uint64_t{1});
      (void)channel.receive<std::uint64_t>(kLong);
      return 0;
    });
    ASSERT_TRUE(victim.channel().receive<std::uint64_t>(kLong)) << "life " << i;
    EXPECT_EQ(quota_row("store-0").at("used_pinned_bytes"), 8_MiB);
    victim.kill();
    victim.join(kLong);
    ASSERT_TRUE(eventually(kLong, [&] { return client_row("store-0").is_null(); }));
  }
  Self store(socket(), "store-0");
  Memory rest = allocate_at(store.client, 6_MiB, 1_GiB);
  Batch batch = need(store.client.allocate_batch(10), "allocate_batch");
  need(store.client.submit_wait(batch, store.requests(10), {}, kLong), "after the deaths");
  need(batch.wait(kLong), "wait");
}

// --- changes at run time
// --------------------------------------------------------------------------

TEST_F(Quotas, AReloadChangesWhatAttachedClientsMayHave) {
  start_slow({{{"client", "store-*"}, {"owners", 10}, {"weight", 2}, {"pinned_bytes", "2MiB"}}});
  Self store(socket(), "store-0");
  Batch batch = need(store.client.allocate_batch(300), "allocate_batch");
  reload({{{"client", "store-*"}, {"owners", 4}, {"weight", 7}, {"pinned_bytes", "4MiB"}}},
         "reload: quotas");
  EXPECT_EQ(client_row("store-0").at("weight"), 7);
  EXPECT_EQ(quota_row("store-0").at("owners"), 4);
  EXPECT_EQ(store.fill(batch).code(), Code::too_many_requests);
  EXPECT_LE(quota_row("store-0").at("used_owners"), 4);
  { Memory more = allocate_at(store.client, 2_MiB, 1_GiB); }
  // Higher again; what waits goes on.
  reload({{{"client", "store-*"}, {"owners", 10}}}, "reload: quotas");
  need(store.client.submit_wait(batch, store.requests(6), {}, kLong), "six more");
  // None at all, and one that matches only now.
  reload(json::array(), "reload: quotas");
  EXPECT_TRUE(quota_row("store-0").is_null());
  reload({{{"client", "*"}, {"weight", 3}}}, "reload: quotas");
  EXPECT_EQ(quota_row("store-0").at("name"), "client:*");
  EXPECT_EQ(client_row("store-0").at("weight"), 3);
  need(batch.wait(kLong), "wait");
}

TEST_F(Quotas, AReloadSaysWhoHasToAttachAgainForAnotherClass) {
  start_with({{{"client", "store-*"}, {"weight", 2}}});
  auto store = std::make_unique<Self>(socket(), "store-0");
  reload({{{"client", "store-*"}, {"weight", 2}, {"highest_class", "background"}}},
         "apply when they attach again");
  must_complete(store->client, store->requests(1)[0], in(Class::foreground));
  store.reset();
  Self again(socket(), "store-0");
  Batch batch = need(again.client.allocate_batch(1), "allocate_batch");
  EXPECT_EQ(again.submit(batch, 1, in(Class::foreground)).code(), Code::not_permitted);
}

TEST_F(Quotas, AReloadThatSplitsASharedKeyWaitsForTheNextAttach) {
  start_with({{{"client", "store-*"}, {"weight", 2}}});
  Self zero(socket(), "store-0");
  auto one = std::make_unique<Self>(socket(), "store-1");
  reload({{{"client", "store-1"}, {"weight", 9}}, {{"client", "store-*"}, {"weight", 5}}},
         "'store-1'");
  EXPECT_EQ(client_row("store-0").at("weight"), 5);
  EXPECT_EQ(client_row("store-1").at("weight"), 5);
  one = std::make_unique<Self>(socket(), "store-2");  // before it: names are kept for a moment
  one = std::make_unique<Self>(socket(), "store-1");
  EXPECT_EQ(client_row("store-1").at("weight"), 9);
  EXPECT_EQ(client_row("store-0").at("weight"), 5);
}

TEST_F(Quotas, ABadReloadChangesNothing) {
  start_with({{{"client", "store-*"}, {"weight", 2}}});
  Self store(socket(), "store-0");
  reload({{{"client", "store-*"}, {"wieght", 9}}}, "refused");
  EXPECT_TRUE(contains(daemon().log(), "`weight`")) << daemon().log();
  EXPECT_EQ(client_row("store-0").at("weight"), 2);
}

TEST_F(Quotas, AnAdministratorSetsTheWeightOfAClientUntilTheNextRestart) {
  start_with({{{"client", "store-*"}, {"weight", 2}}});
  auto store = std::make_unique<Self>(socket(), "store-0");
  const std::string admin = daemon().admin_socket();
  const std::string text = command(admin, CommandKind::set, "clients.store-0.weight=6");
  EXPECT_TRUE(contains(text, "2 → 6")) << text;
  EXPECT_TRUE(contains(text, "restart")) << text;
  EXPECT_EQ(client_row("store-0").at("weight"), 6);
  // Other settings leave it alone, and a second session has it as well.
  command(admin, CommandKind::set, "policy=strict");
  Self second(socket(), "store-1");
  EXPECT_EQ(client_row("store-1").at("weight"), 6);
  const std::string id = std::to_string(client_row("store-0").at("client").get<std::uint64_t>());
  command(admin, CommandKind::set, "clients." + id + ".weight=4");
  EXPECT_EQ(client_row("store-1").at("weight"), 4);
  must_complete(second.client, second.requests(1)[0]);
  for (const char* wrong : {"clients.nobody.weight=2", "clients.store-0.weight=0",
                            "clients.store-0.weight=10001", "clients.store-0.weight=x",
                            "clients.store-0.owners=5", "clients.weight=5", "clients..weight=5"}) {
    EXPECT_THROW(command(admin, CommandKind::set, wrong), std::runtime_error) << wrong;
  }
  daemon().stop();
  daemon().start();
  ASSERT_TRUE(eventually(kLong, [&] { return !client_row("store-1").is_null(); }));
  EXPECT_EQ(client_row("store-1").at("weight"), 2);
}

TEST_F(Quotas, TheListOfClientsShowsThemWithinAHundredColumns) {
  start_with({{{"client", "store-*"},
               {"highest_class", "prefetch"},
               {"over", "downgrade"},
               {"weight", 4},
               {"owners", 100},
               {"bytes", "4MiB"},
               {"in_flight_bytes", "1MiB"},
               {"pinned_bytes", "64MiB"}}});
  Self store(socket(), "store-0");
  must_complete(store.client, store.requests(1)[0], in(Class::foreground));
  const json quota = quota_row("store-0");
  EXPECT_EQ(quota.at("over"), "downgrade");
  EXPECT_EQ(quota.at("weight"), 4);
  EXPECT_EQ(quota.at("in_flight_bytes"), 1_MiB);
  EXPECT_EQ(quota.at("used_pinned_bytes"), 2_MiB);
}

}  // namespace
}  // namespace tentq::test
