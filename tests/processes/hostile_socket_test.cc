// A stranger at the socket: malformed packets, floods of fds and connections, half-closed ends. The
// daemon closes what is broken, keeps what it has, and serves everybody else.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/processes/raw_session.h"
#include "tests/support/proc.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

class HostileSocket : public DaemonFixture {
 protected:
  void start_with_neighbours(const nlohmann::json& config = nlohmann::json::object()) {
    start(config);
    store_ = std::make_unique<Exporter>(socket(), ExporterOptions{.bytes = 1_MiB});
    load_ = std::make_unique<Load>(socket(), Load::Options{.clients = 2});
    ASSERT_TRUE(load_->proceeds(3, kLong));
    baseline_ = facts_of(daemon().pid());
  }
  void TearDown() override {
    if (load_) {
      EXPECT_TRUE(load_->proceeds(10, kLong)) << daemon().log();
      const bool back = eventually(kLong, [&] {
        const ProcessFacts now = facts_of(daemon().pid());
        return now.fds <= baseline_.fds && now.memfds <= baseline_.memfds &&
               now.memfd_maps <= baseline_.memfd_maps;
      });
      EXPECT_TRUE(back) << "before: " << baseline_.to_string()
                        << "\nafter: " << facts_of(daemon().pid()).to_string();
      EXPECT_TRUE(load_->stop());
      EXPECT_EQ(load_->mismatches(), 0u);
      EXPECT_EQ(load_->failures(), 0u);
      load_.reset();
      EXPECT_EQ(store_->stop(), 0);
      store_.reset();
    }
    DaemonFixture::TearDown();
  }

  std::unique_ptr<Exporter> store_;
  std::unique_ptr<Load> load_;
  ProcessFacts baseline_;
};

constexpr std::chrono::seconds kSoon{10};

TEST_F(HostileSocket, MalformedPacketsEndTheirConnection) {
  start_with_neighbours();
  const auto closes_after = [&](std::span<const std::byte> packet) {
    RawConnection connection(socket());
    connection.send_bytes(packet);
    return connection.closes(kSoon);
  };
  const std::vector<std::byte> junk(3, std::byte{0xff});
  EXPECT_TRUE(closes_after(junk));
  EXPECT_TRUE(closes_after(std::vector<std::byte>(sizeof(ControlHeader), std::byte{0xff})));
  EXPECT_TRUE(closes_after(std::vector<std::byte>(kLargestMessage, std::byte{0x11})));
  EXPECT_TRUE(closes_after(std::vector<std::byte>(100'000, std::byte{0})));
  auto lying = make_message<Query>(1);
  lying.header.bytes = 12;
  EXPECT_TRUE(closes_after(std::as_bytes(std::span(&lying, 1))));
  auto endless = make_message<Query>(1);
  std::memset(static_cast<void*>(&endless.argument), 'a', sizeof endless.argument);
  EXPECT_TRUE(closes_after(std::as_bytes(std::span(&endless, 1))));
  const Query fit = make_message<Query>(1);
  EXPECT_TRUE(closes_after(std::as_bytes(std::span(&fit, 1)).first(sizeof fit - 1)));
  auto answer = make_message<Welcome>(1);  // what only the daemon says
  EXPECT_TRUE(closes_after(std::as_bytes(std::span(&answer, 1))));
}

TEST_F(HostileSocket, MessagesBeforeHelloEndTheirConnection) {
  start_with_neighbours();
  const auto closes_after = [&](const auto& message) {
    RawConnection connection(socket());
    connection.send(message);
    return connection.closes(kSoon);
  };
  EXPECT_TRUE(closes_after(make_message<Mapped>()));
  EXPECT_TRUE(closes_after(make_message<RegisterRegion>(1)));
  EXPECT_TRUE(closes_after(make_message<UnregisterRegion>(1)));
  EXPECT_TRUE(closes_after(make_message<OpenSegment>(1)));
  EXPECT_TRUE(closes_after(make_message<CloseSegment>(1)));
  EXPECT_TRUE(closes_after(make_message<SegmentRegions>(1)));
  EXPECT_TRUE(closes_after(make_message<Goodbye>()));
}

TEST_F(HostileSocket, ASecondHelloIsRefused) {
  start_with_neighbours();
  RawSession session(socket(), proper_hello("twice"));
  session.connection().send(proper_hello("again"));
  const auto refused = session.connection().receive<Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, StatusCode::invalid_argument);
  EXPECT_TRUE(session.connection().closes(kSoon));
  EXPECT_TRUE(eventually(kLong, [&] { return client_row("twice").is_null(); }));
}

TEST_F(HostileSocket, RandomPacketsHurtNobody) {
  start_with_neighbours();
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int life = 0; life < 40; ++life) {
    RawSession session(socket(), proper_hello("noise"));
    for (int i = 0; i < 30; ++i) {
      std::byte bytes[kLargestMessage];
      const std::size_t sizes[] = {sizeof(RegisterRegion), sizeof(UnregisterRegion),
                                   sizeof(OpenSegment),    sizeof(CloseSegment),
                                   sizeof(SegmentRegions), sizeof(Query),
                                   sizeof(Mapped),         1 + random() % kLargestMessage};
      const MessageType types[] = {MessageType::register_region, MessageType::unregister_region,
                                   MessageType::open_segment,    MessageType::close_segment,
                                   MessageType::segment_regions, MessageType::query,
                                   MessageType::mapped,          MessageType::goodbye};
      const std::size_t kind = random() % 8;
      const std::size_t size = std::max(sizes[kind], sizeof(ControlHeader));
      for (std::size_t b = 0; b < size; ++b) bytes[b] = static_cast<std::byte>(random() % 256);
      ControlHeader header{types[kind], static_cast<std::uint32_t>(size), random()};
      std::memcpy(bytes, &header, sizeof header);
      if (random() % 2 == 0) bytes[size - 1] = std::byte{0};
      const int fd = static_cast<int>(random() % 3);  // standard streams: real, and no memory
      const bool with_fd = random() % 2 == 0;
      if (!session.connection().send_bytes(std::span(bytes).first(size),
                                           std::span(&fd, with_fd ? 1 : 0))) {
        break;
      }
    }
    ASSERT_TRUE(daemon().running()) << daemon().log();
  }
}

// More fds in one packet than any message has, again and again.
TEST_F(HostileSocket, SurplusFdsAreClosed) {
  start_with_neighbours();
  const shm::Fd event(::eventfd(0, EFD_CLOEXEC));
  std::vector<int> fds(100, event.get());
  for (int i = 0; i < 50; ++i) {
    RawConnection connection(socket());
    Query message = make_message<Query>(1);
    message.kind = QueryKind::status;
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    iovec part{&message, sizeof message};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = control.data();
    packet.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&packet);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size() * sizeof(int));
    ASSERT_GT(::sendmsg(connection.fd(), &packet, MSG_NOSIGNAL), 0);
    // Served or closed, but never kept.
    (void)connection.receive<QueryReply>(std::chrono::seconds{2});
  }
}

TEST_F(HostileSocket, AHalfClosedSocketIsTheClientsEnd) {
  start_with_neighbours();
  for (int i = 0; i < 20; ++i) {
    RawSession session(socket(), proper_hello("half"));
    ASSERT_FALSE(client_row("half").is_null());
    ASSERT_EQ(::shutdown(session.connection().fd(), i % 2 == 0 ? SHUT_WR : SHUT_RDWR), 0);
    ASSERT_TRUE(eventually(kSoon, [&] { return client_row("half").is_null(); })) << i;
  }
}

TEST_F(HostileSocket, AClientThatTakesNoAnswersLosesItsConnectionAlone) {
  start_with_neighbours();
  RawSession session(socket(), proper_hello("deaf"));
  Query question = make_message<Query>(1);
  question.kind = QueryKind::status;
  bool closed = false;
  for (int i = 0; i < 100'000 && !closed; ++i) closed = !session.connection().send(question);
  EXPECT_TRUE(closed);
  EXPECT_TRUE(eventually(kSoon, [&] { return client_row("deaf").is_null(); }));
}

// Notifications to it can never be sent, nor may trying keep the daemon busy.
TEST_F(HostileSocket, AClientThatShutsItsReceivingEndIsShutOut) {
  start_with_neighbours();
  RawSession session(socket(), proper_hello("deaf"));
  ASSERT_EQ(::shutdown(session.connection().fd(), SHUT_RD), 0);
  ASSERT_FALSE(client_row("deaf").is_null());
  Client sender = attach(socket(), "sender");
  const Segment deaf = need(sender.open_segment("deaf"), "open_segment");
  const NotificationId id = need(sender.send_notification(deaf, "n", "m"), "send_notification");
  EXPECT_TRUE(eventually(kSoon, [&] { return sender.notification_status(id).done(); }));
  EXPECT_EQ(sender.notification_status(id).reason, TaskReason::peer_lost);
  EXPECT_TRUE(eventually(kSoon, [&] { return client_row("deaf").is_null(); }));
}

TEST_F(HostileSocket, SilentConnectionsAreClosedAndNewcomersStillGetIn) {
  start_with_neighbours({{"sessions", {{"handshake", "500ms"}}}});
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 400; ++i) {
    try {
      silent.push_back(std::make_unique<RawConnection>(socket()));
    } catch (const std::runtime_error&) {
      break;  // the backlog is full: that is the kernel's limit
    }
  }
  EXPECT_TRUE(load_->proceeds(5, kLong));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually(kSoon, [&] {
    try {
      RawSession newcomer(socket(), proper_hello("newcomer"));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{5});
  for (auto& connection : silent) EXPECT_TRUE(connection->closes(kSoon));
}

TEST_F(HostileSocket, HelloWithoutMappedIsGivenUp) {
  start_with_neighbours({{"sessions", {{"handshake", "300ms"}}}});
  RawSession session(socket(), proper_hello("half-attached"), false);
  EXPECT_TRUE(session.connection().closes(kSoon));
  EXPECT_TRUE(eventually(kSoon, [&] { return client_row("half-attached").is_null(); }));
}

TEST_F(HostileSocket, TooManySessionsAreRefusedWithTheLimit) {
  start_with_neighbours({{"sessions", {{"most", 16}}}});
  std::vector<std::unique_ptr<RawSession>> sessions;
  for (int i = 0; i < 13; ++i) {
    sessions.push_back(
        std::make_unique<RawSession>(socket(), proper_hello("s" + std::to_string(i))));
  }
  const Status refused = Client::connect(connection(socket(), "one-more")).status();
  EXPECT_EQ(refused.code(), Code::exhausted) << refused.to_string();
  EXPECT_NE(refused.text().find("sessions.most"), std::string::npos) << refused.text();
  sessions.pop_back();
  EXPECT_TRUE(
      eventually(kSoon, [&] { return Client::connect(connection(socket(), "one-more")).ok(); }));
}

// Without a descriptor left the daemon refuses or keeps waiting who comes, and serves who is there.
TEST_F(HostileSocket, RunningOutOfDescriptorsHurtsNewcomersAlone) {
  start_with_neighbours();
  rlimit before{};
  ASSERT_EQ(::prlimit(daemon().pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit narrow{baseline_.fds + 12, before.rlim_max};
  ASSERT_EQ(::prlimit(daemon().pid(), RLIMIT_NOFILE, &narrow, nullptr), 0);
  std::vector<std::unique_ptr<RawConnection>> waiting;
  for (int i = 0; i < 60; ++i) {
    waiting.push_back(std::make_unique<RawConnection>(socket()));
    waiting.back()->send(proper_hello("crowd" + std::to_string(i)));
  }
  EXPECT_TRUE(load_->proceeds(20, kLong));
  const ProcessFacts now = facts_of(daemon().pid());
  EXPECT_LE(now.fds, narrow.rlim_cur);
  waiting.clear();
  ASSERT_EQ(::prlimit(daemon().pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_TRUE(
      eventually(kSoon, [&] { return Client::connect(connection(socket(), "later")).ok(); }));
}

// What it claims to have had outstanding before a restart that never was.
TEST_F(HostileSocket, AFalseClaimOfOutstandingWorkTakesNothingFromOthers) {
  start_with_neighbours({{"limits", {{"client", {{"owners", 1'000}}}}}});
  std::vector<std::unique_ptr<RawSession>> liars;
  for (int i = 0; i < 8; ++i) {
    Hello hello = proper_hello("liar" + std::to_string(i));
    hello.reattach = 1;
    for (Outstanding& claim : hello.outstanding) {
      claim.owners = i % 2 == 0 ? ~std::uint64_t{0} : 60'000;
      claim.bytes = ~std::uint64_t{0} / 2;
      claim.extents = ~std::uint64_t{0};
    }
    try {
      liars.push_back(std::make_unique<RawSession>(socket(), hello));
    } catch (const std::runtime_error&) {  // refused: fine
    }
  }
  EXPECT_TRUE(load_->proceeds(20, kLong)) << ask(QueryKind::clients).dump(1);
  const nlohmann::json rows = ask(QueryKind::clients).at("clients");
  std::uint64_t granted = 0;
  for (const nlohmann::json& row : rows) {
    granted += row.at("granted_owners").get<std::uint64_t>();
  }
  EXPECT_LE(granted, 65'536u);
  EXPECT_EQ(ask(QueryKind::status).at("state"), "running");
}

// Memory that is not memory, that has holes, that shrinks under the daemon.
TEST_F(HostileSocket, MemoryThatIsNoneIsRefusedAndMemoryThatShrinksFailsAlone) {
  start_with_neighbours();
  RawSession session(socket(), proper_hello("odd"));
  const shm::Fd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_EQ(session.register_memory(event.get(), 0, 4'096), 0u);
  EXPECT_EQ(session.register_memory(session.connection().fd(), 0, 4'096), 0u);
  EXPECT_EQ(session.register_memory(session.sta_fd(), 0, 1 << 30), 0u);
  const shm::Fd holes(::memfd_create("holes", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(holes.get(), 64_KiB), 0);
  EXPECT_EQ(session.register_memory(holes.get(), 0, 64_KiB), 0u);
  EXPECT_EQ(session.register_memory(holes.get(), 0, 128_KiB), 0u);
  EXPECT_EQ(session.register_memory(holes.get(), ~std::uint64_t{0} - 100, 4'096), 0u);
  // Unsealed memory is taken, and then cut short.
  const shm::Fd shrinking(::memfd_create("shrinking", MFD_CLOEXEC));
  const std::vector<char> bytes(1_MiB, 'x');
  ASSERT_EQ(::write(shrinking.get(), bytes.data(), bytes.size()), 1_MiB);
  const std::uint32_t region = session.register_memory(shrinking.get(), 0, 1_MiB);
  ASSERT_NE(region, 0u);
  ASSERT_EQ(::ftruncate(shrinking.get(), 0), 0);
  CellBody cell;
  cell.kind = CellKind::transfer;
  cell.op = Op::read;
  cell.slot = 0;
  cell.slot_generation = 1;
  cell.group_size = 1;
  cell.local_region = region;
  cell.remote_segment = session.open_segment("store");
  cell.length = 1_MiB;
  CreditCounters& consumed = session.view().req()->consumed[index_of(ClassId::standard)];
  consumed.owners = 1;
  consumed.bytes = 1_MiB;
  consumed.extents = 1;
  session.publish(ClassId::standard, std::span(&cell, 1));
  SlotWord word;
  EXPECT_TRUE(eventually(kLong, [&] {
    word = SlotWord::unpack(session.view().slots()[0].word.load());
    return word.generation == 1 && is_terminal(word.state);
  }));
  EXPECT_EQ(word.state, TaskState::failed);
  EXPECT_EQ(word.reason, Reason::memory_fault) << to_string(word.reason);
}

}  // namespace
}  // namespace tentq::test
