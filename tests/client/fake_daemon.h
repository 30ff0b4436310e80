// A daemon for tests of the client: speaks the control protocol, drains the rings, moves bytes with
// memcpy and does what the test tells it, in one thread of the test's process. No scheduling, no
// limits but the credit that it grants. Destroying it is its death: every connection just ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/fake_session.h"

namespace tentq::testing {

struct FakeDaemonOptions {
  SessionSizes sizes{.class_mask = kClientClassMask,
                     .ring_cells = 256,
                     .ring_reserved = 64,
                     .slots = 256,
                     .arena_bytes = 256u << 10};
  SessionLimits limits{.largest_call = 128,
                       .regions = 64,
                       .largest_owner = 1u << 20,
                       .owners = 1024,
                       .bytes = 1u << 30,
                       .extents = 1024};
  shm::CreditAmounts grant{1024, 1u << 30, 1024};
  bool hold = false;                   // transfers stay queued until release()
  StatusCode refuse = StatusCode::ok;  // answers every HELLO with this
  std::string refusal{};
  std::uint16_t major = kProtocolMajorForTests;
  static constexpr std::uint16_t kProtocolMajorForTests = 1;
};

class FakeDaemon {
 public:
  explicit FakeDaemon(std::string path, FakeDaemonOptions options = {});
  ~FakeDaemon();

  // From now on transfers stay queued, or are carried out (those queued too).
  void hold(bool hold);
  // Ends the oldest `count` queued owners as completed, without telling anybody: no futex, no fd.
  void finish_silently(std::size_t count);
  void grant(ClassId cls, const shm::CreditAmounts& more);
  void set_state(DaemonState state);
  void fail_registrations(StatusCode code);
  // Tells every client that it is shut out, and ends its connection.
  void shut_out();
  // Waits until the condition holds, looked at after every turn; false after 20 s.
  bool await(const std::function<bool(const FakeDaemon&)>& condition);

  // What it has seen. Inside await() as they are; elsewhere call snapshot().
  struct Seen {
    std::uint64_t hellos = 0, attaches = 0, goodbyes = 0;
    std::uint64_t groups = 0, transfers = 0, replayed = 0, cancels = 0, notifies = 0;
    std::uint64_t wishes = 0, waiting_wishes = 0, violations = 0;
    std::uint64_t registrations = 0, unregistrations = 0, opens = 0, closes = 0;
    std::uint64_t queued = 0;
    std::vector<CellBody> cells;  // of all transfers, in order
    Hello last_hello;
    std::map<std::string, Hello> hello_of;  // the latest, by name
  };
  Seen snapshot();
  const Seen& seen() const { return seen_; }

 private:
  using Packet = std::vector<std::byte>;
  void run();
  bool turn();
  void accept_all();
  void receive(FakeSession& session);
  void dispatch(FakeSession& session, const Packet& packet, shm::Fd fd);
  void hello(FakeSession& session, const Hello& message);
  void register_region(FakeSession& session, const RegisterRegion& message, shm::Fd fd);
  void open_segment(FakeSession& session, const OpenSegment& message);
  void list_regions(FakeSession& session, const SegmentRegions& message);
  void answer_query(FakeSession& session, const Query& message);
  void drain(FakeSession& session);
  void take(FakeSession& session, FakeRing& ring, const CellBody& cell);
  bool take_slot(FakeSession& session, const CellBody& cell);
  void parse_notification(FakeSession& session, FakeOwner* owner);
  void work(FakeSession& session);
  // True when the owner is terminal now.
  bool carry_out(FakeSession& session, FakeOwner& owner);
  bool carry_out_notification(FakeSession& session, FakeOwner& owner);
  FakeSession* exporter(const FakeSegment& segment);
  template <class Message>
  void send(FakeSession& session, const Message& message, std::span<const int> fds = {});

  const FakeDaemonOptions options_;
  shm::Fd listener_;
  shm::Fd wake_;
  std::mutex mutex_;
  std::condition_variable turned_;
  std::list<FakeSession> sessions_;
  bool hold_ = false;
  StatusCode registrations_ = StatusCode::ok;
  bool stop_ = false;
  bool dirty_ = false;  // the test changed something
  std::uint64_t next_client_ = 1;
  Seen seen_;
  std::thread thread_;
};

}  // namespace tentq::testing
