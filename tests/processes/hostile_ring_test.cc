// A client that writes garbage into its request memory: the daemon lives, tells what was wrong,
// shuts out who breaks the ring itself, and the others' verified work goes on.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/raw_session.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

// Two clients with verified work beside the hostile one.
class HostileRing : public DaemonFixture {
 protected:
  void start_with_neighbours(const nlohmann::json& config = nlohmann::json::object()) {
    start(config);
    store_ = std::make_unique<Exporter>(socket(), ExporterOptions{.bytes = 1_MiB});
    load_ = std::make_unique<Load>(socket(), Load::Options{.clients = 2});
    ASSERT_TRUE(load_->proceeds(3, kLong));
  }
  void TearDown() override {
    if (load_) {
      EXPECT_TRUE(load_->proceeds(10, kLong)) << daemon().log();
      EXPECT_TRUE(load_->stop());
      EXPECT_EQ(load_->mismatches(), 0u);
      EXPECT_EQ(load_->failures(), 0u);
      load_.reset();
      EXPECT_EQ(store_->stop(), 0);
      store_.reset();
    }
    DaemonFixture::TearDown();
  }
  // Whether the session with this name is shut out: it leaves the list, and its socket is closed.
  bool shut_out(RawSession& session, const std::string& name) {
    const auto notice = session.connection().receive<DaemonNotice>();
    return notice && notice->state == DaemonState::quarantined &&
           session.connection().closes(std::chrono::seconds{10}) &&
           eventually(kLong, [&] { return client_row(name).is_null(); });
  }
  std::uint64_t violations(const std::string& name, const std::string& kind) {
    const nlohmann::json row = client_row(name);
    return row.is_null() ? 0 : row.at("violations_by_kind").value(kind, std::uint64_t{0});
  }

  std::unique_ptr<Exporter> store_;
  std::unique_ptr<Load> load_;
};

// A session with a region and the store open, and a request that would be fit.
struct Equipped {
  RawSession session;
  shm::Fd memory;
  std::uint32_t region = 0;
  std::uint32_t store = 0;

  Equipped(const std::string& socket, const std::string& name)
      : session(socket, proper_hello(name)) {
    int error = 0;
    memory = shm::create_memory("hostile", 64_KiB, false, &error);
    if (error == 0) error = shm::seal_shrink(memory.get());
    void* pages = ::mmap(nullptr, 64_KiB, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (error != 0 || pages == MAP_FAILED) throw std::runtime_error("memory");
    std::memset(pages, 1, 64_KiB);
    ::munmap(pages, 64_KiB);
    region = session.register_memory(memory.get(), 0, 64_KiB);
    store = session.open_segment("store");
    if (region == 0 || store == 0) throw std::runtime_error("not equipped");
  }
  CellBody fit(std::uint32_t slot, std::uint32_t generation) const {
    CellBody cell;
    cell.kind = CellKind::transfer;
    cell.op = Op::write;
    cell.group_size = 1;
    cell.slot = slot;
    cell.slot_generation = generation;
    cell.local_region = region;
    cell.remote_segment = store;
    cell.remote_offset = 512_KiB;
    cell.length = 64;
    return cell;
  }
  // Publishes one cell, consuming credit as a proper client would; its slot's end.
  SlotWord outcome(const CellBody& cell) {
    CreditCounters& consumed = session.view().req()->consumed[index_of(ClassId::standard)];
    consumed.owners.fetch_add(1);
    consumed.bytes.fetch_add(cell.length < 1_GiB ? cell.length : 64);
    consumed.extents.fetch_add(1);
    session.publish(ClassId::standard, std::span(&cell, 1));
    SlotWord word;
    const Slot& slot = session.view().slots()[cell.slot];
    eventually(std::chrono::seconds{10}, [&] {
      word = SlotWord::unpack(slot.word.load());
      return word.generation == cell.slot_generation && is_terminal(word.state);
    });
    return word;
  }
};

TEST_F(HostileRing, UnfitRequestsEndWithTheirReasonAndAreCounted) {
  start_with_neighbours();
  Equipped client(socket(), "hostile");
  std::uint32_t generation = 0;
  EXPECT_EQ(client.outcome(client.fit(0, ++generation)).state, TaskState::completed);
  struct Case {
    void (*spoil)(CellBody&);
    Reason reason;
    const char* kind;
  };
  const Case cases[] = {
      {[](CellBody& c) { c.local_region = 77; }, Reason::unknown_region, "unknown_region"},
      {[](CellBody& c) { c.remote_segment = 77; }, Reason::unknown_segment, "unknown_segment"},
      {[](CellBody& c) { c.local_offset = 64_KiB; }, Reason::out_of_range, "out_of_range"},
      {[](CellBody& c) { c.local_offset = ~std::uint64_t{0} - 10; }, Reason::out_of_range,
       "out_of_range"},
      {[](CellBody& c) { c.remote_offset = 1_MiB; }, Reason::out_of_range, "out_of_range"},
      {[](CellBody& c) { c.remote_offset = ~std::uint64_t{0} - 10; }, Reason::out_of_range,
       "out_of_range"},
      {[](CellBody& c) { c.length = 0; }, Reason::invalid_cell, "bad_length"},
      {[](CellBody& c) { c.length = ~std::uint64_t{0}; }, Reason::too_large, "bad_length"},
      {[](CellBody& c) { c.deadline_ns = ~std::uint64_t{0}; }, Reason::invalid_cell, "bad_length"},
      {[](CellBody& c) { c.reserved[2] = 1; }, Reason::invalid_cell, "reserved_bits"},
      {[](CellBody& c) { c.flags = 0x8000; }, Reason::invalid_cell, "reserved_bits"},
      {[](CellBody& c) { c.op = Op{9}; }, Reason::invalid_cell, "reserved_bits"},
  };
  for (const Case& test : cases) {
    CellBody cell = client.fit(0, ++generation);
    test.spoil(cell);
    const std::uint64_t before = violations("hostile", test.kind);
    const SlotWord end = client.outcome(cell);
    EXPECT_EQ(end.state, TaskState::failed) << test.kind;
    EXPECT_EQ(end.reason, test.reason) << test.kind << ": " << to_string(end.reason);
    EXPECT_EQ(violations("hostile", test.kind), before + 1) << test.kind;
  }
  EXPECT_EQ(client.outcome(client.fit(0, ++generation)).state, TaskState::completed);
}

TEST_F(HostileRing, SlotsThatAreNotItsToTakeAreRefused) {
  start_with_neighbours();
  Equipped client(socket(), "hostile");
  CellBody cell = client.fit(~std::uint32_t{0}, 1);
  client.session.publish(ClassId::standard, std::span(&cell, 1));
  cell = client.fit(3, 7);  // a generation that is not the next
  client.session.publish(ClassId::standard, std::span(&cell, 1));
  EXPECT_TRUE(eventually(kLong, [&] { return violations("hostile", "bad_slot") >= 2; }));
  EXPECT_EQ(client.outcome(client.fit(3, 1)).state, TaskState::completed);
}

TEST_F(HostileRing, WorkBeyondItsCreditIsRefusedAndCounted) {
  start_with_neighbours({{"limits", {{"client", {{"owners", 64}}}}}});
  Equipped client(socket(), "hostile");
  std::vector<CellBody> cells;
  for (std::uint32_t slot = 0; slot < 400; ++slot) {
    cells.push_back(client.fit(slot, 1));
    cells.back().group_size = 400;
    cells.back().group_index = static_cast<std::uint16_t>(slot);
  }
  client.session.publish(ClassId::standard, cells);  // nothing was consumed for it
  const Slot* slots = client.session.view().slots();
  SlotWord word;
  EXPECT_TRUE(eventually(kLong, [&] {
    word = SlotWord::unpack(slots[399].word.load());
    return word.generation == 1 && is_terminal(word.state);
  }));
  EXPECT_EQ(word.state, TaskState::failed);
  EXPECT_TRUE(word.reason == Reason::over_credit || word.reason == Reason::over_limit ||
              word.reason == Reason::too_large)
      << to_string(word.reason);
  EXPECT_EQ(client_row("hostile").at("outstanding_owners"), 0);
}

TEST_F(HostileRing, ABrokenRingShutsItsOwnerOut) {
  start_with_neighbours();
  const auto break_ring = [&](const std::function<void(RawSession&)>& spoil) {
    RawSession session(socket(), proper_hello("hostile"));
    spoil(session);
    session.ring();
    return shut_out(session, "hostile");
  };
  const auto cell_at_head = [](RawSession& s, std::uint16_t size, std::uint16_t index) {
    Cell& cell = s.view().ring(ClassId::standard)[0];
    cell.body = CellBody{};
    cell.body.kind = CellKind::transfer;
    cell.body.group_size = size;
    cell.body.group_index = index;
    cell.seq.store(1);
  };
  const auto tail_of = [](RawSession& s) -> std::atomic<std::uint64_t>& {
    return s.view().req()->tails[index_of(ClassId::standard)].value;
  };
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // runs far ahead
    tail_of(s) = ~std::uint64_t{0} - 5;
    cell_at_head(s, 1, 0);
  }));
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // published, never reserved
    cell_at_head(s, 1, 0);
  }));
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // the group of one is the second of a group
    tail_of(s) = 1;
    cell_at_head(s, 1, 1);
  }));
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // empty
    tail_of(s) = 1;
    cell_at_head(s, 0, 0);
  }));
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // larger than the ring
    tail_of(s) = 1'024;
    cell_at_head(s, 65'535, 0);
  }));
  EXPECT_TRUE(break_ring([&](RawSession& s) {  // the first is published, the others are not
    tail_of(s) = 8;
    cell_at_head(s, 8, 0);
  }));
}

// A process that dies within a submit, after each of its steps: what was published whole is done or
// dropped, what was not never happens, and the others' work goes on.
TEST_F(HostileRing, ADeathAtEveryStepOfASubmitHurtsNobody) {
  start_with_neighbours();
  constexpr std::uint32_t kGroup = 4;
  for (int step = 0; step < 6; ++step) {
    for (int life = 0; life < 10; ++life) {
      Equipped client(socket(), "dying");
      const shm::SessionView& view = client.session.view();
      CreditCounters& consumed = view.req()->consumed[index_of(ClassId::standard)];
      if (step >= 1) consumed.owners += kGroup;
      if (step >= 2) view.req()->tails[index_of(ClassId::standard)].value = kGroup;
      Cell* cells = view.ring(ClassId::standard);
      for (std::uint32_t i = kGroup; i-- > 0;) {
        if (step < 3 || (i == 0 && step < 4)) break;
        cells[i].body = client.fit(i, 1);
        cells[i].body.group_size = kGroup;
        cells[i].body.group_index = static_cast<std::uint16_t>(i);
        cells[i].seq.store(i + 1, std::memory_order_release);
      }
      if (step >= 5) client.session.ring();
      if (life % 2 == 0) (void)load_->proceeds(1, kLong);
    }
    ASSERT_TRUE(daemon().running()) << daemon().log();
    EXPECT_TRUE(eventually(kLong, [&] { return client_row("dying").is_null(); }));
  }
  EXPECT_EQ(ask(QueryKind::errors).at("errors").size(), 0u) << ask(QueryKind::errors).dump();
}

TEST_F(HostileRing, AStalledProducerIsShownAndStallsItselfAlone) {
  start_with_neighbours();
  RawSession session(socket(), proper_hello("hostile"));
  session.view().req()->tails[index_of(ClassId::standard)].value = 4;  // reserved, not published
  session.ring();
  EXPECT_TRUE(
      eventually(kLong, [&] { return client_row("hostile").at("stalled_producer") == true; }));
  EXPECT_TRUE(load_->proceeds(10, kLong));
}

TEST_F(HostileRing, RandomBytesEverywhereHurtNobodyElse) {
  start_with_neighbours();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int life = 0; life < 40; ++life) {
    Equipped client(socket(), "hostile");
    const std::span<std::byte> req = client.session.req();
    for (int round = 0; round < 50; ++round) {
      // Mostly the header and the first cells, where it hurts.
      for (int i = 0; i < 64; ++i) {
        const std::size_t room = random() % 2 == 0 ? 16_KiB : req.size();
        const std::size_t at = random() % (room / 8) * 8;
        const std::uint64_t value = random() % 3 == 0 ? random() : random() % 4;
        std::memcpy(req.data() + at, &value, sizeof value);
      }
      client.session.ring();
      if (round % 10 == 0) {
        ASSERT_TRUE(daemon().running()) << daemon().log();
      }
    }
    ASSERT_TRUE(daemon().running()) << daemon().log();
  }
  EXPECT_TRUE(load_->proceeds(10, kLong));
}

// Requests that are almost right, with one random word each: the checks behind the ring's own.
TEST_F(HostileRing, RandomWordsInRequestsHurtNobodyElse) {
  start_with_neighbours();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int life = 0; life < 20; ++life) {
    Equipped client(socket(), "hostile");
    std::vector<std::uint32_t> generations(64, 0);
    for (int round = 0; round < 300; ++round) {
      const auto slot = static_cast<std::uint32_t>(random() % 64);
      CellBody cell = client.fit(slot, ++generations[slot]);
      std::uint64_t words[sizeof cell / 8];
      std::memcpy(words, &cell, sizeof cell);
      words[random() % std::size(words)] = random() % 2 == 0 ? random() : random() % 8;
      std::memcpy(static_cast<void*>(&cell), words, sizeof cell);
      cell.remote_segment = cell.remote_segment == client.store ? client.store : 0;
      cell.remote_offset |= 512_KiB;  // not into the neighbours' areas
      client.session.publish(static_cast<ClassId>(1 + random() % 4), std::span(&cell, 1));
    }
    ASSERT_TRUE(daemon().running()) << daemon().log();
  }
}

// The counters of credit are the client's to write: whatever they say, the limits hold.
TEST_F(HostileRing, FalseCountersAndWishesGainNothing) {
  start_with_neighbours({{"limits", {{"client", {{"owners", 64}}}}}});
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int life = 0; life < 20; ++life) {
    RawSession session(socket(), proper_hello("hostile"));
    ReqHeader* req = session.view().req();
    for (int round = 0; round < 200; ++round) {
      const std::size_t cls = 1 + random() % 4;
      const std::uint64_t value = random() % 2 == 0 ? random() : random() % 100;
      CreditWish& wish = req->wanted[cls];
      wish.owners = value;
      wish.bytes = random();
      wish.extents = random() % 2 == 0 ? random() : 0;
      wish.waiting = static_cast<std::uint32_t>(random() % 3);
      wish.serial = wish.serial + 2;
      req->consumed[cls].owners = random() % 2 == 0 ? random() : 0;
      req->consumed[cls].bytes = random();
      req->waiters.value = static_cast<std::uint32_t>(random());
      req->completion_fd_armed.value = static_cast<std::uint32_t>(random());
      session.ring();
    }
    EXPECT_LE(client_row("hostile").at("outstanding_owners"), 64);
  }
  EXPECT_TRUE(load_->proceeds(10, kLong));
}

}  // namespace
}  // namespace tentq::test
