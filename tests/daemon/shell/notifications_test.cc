// A notification follows the data that it announces, is dropped with a reason when that fails, and
// waits, within bounds, for a receiver that does not read or is expected back.
#include "daemon/notifications.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "shm/session_memory.h"

namespace tentq {
namespace {

using namespace std::chrono_literals;

class NotificationsTest : public ::testing::Test, Notifications::Host {
 protected:
  NotificationsTest() {
    SessionSizes sizes;
    sizes.class_mask = kClientClassMask;
    sizes.arena_bytes = 1 << 16;
    EXPECT_EQ(shm::create_session_memory(sizes, &sender.memory), 0);
    sender.id = SessionId{0};
    sender.name = "engine-0";
    sender.incarnation = 11;
    sender.slots.resize(64);
    receiver.id = SessionId{1};
    segment->name = "store-0";
    segment->exporter = receiver.id;
    sender.segments.emplace(1, OpenedSegment{segment, 0});
  }

  void start_owner(std::uint32_t slot) {
    sender.slots[slot].generation += 1;
    sender.slots[slot].busy = true;
  }
  void end_owner(std::uint32_t slot, TaskState state) {
    sender.slots[slot].busy = false;
    sender.slots[slot].last = state;
    notifications.owner_ended(sender, slot, sender.slots[slot].generation, state, now);
  }
  // Sends from slot 40 + n, after the given owners.
  void send(std::uint32_t n, const std::vector<SlotRef>& after, std::string_view text = "ready") {
    NotifyHead head{n, static_cast<std::uint32_t>(after.size()), 1,
                    static_cast<std::uint16_t>(text.size())};
    std::vector<std::byte> bytes(sizeof head + after.size() * sizeof(SlotRef) + 1 + text.size());
    std::byte* at = bytes.data();
    std::memcpy(at, &head, sizeof head);
    at += sizeof head;
    if (!after.empty()) std::memcpy(at, after.data(), after.size() * sizeof(SlotRef));
    at += after.size() * sizeof(SlotRef);
    std::memcpy(at, "n", 1);
    std::memcpy(at + 1, text.data(), text.size());
    std::memcpy(sender.memory.view.arena(), bytes.data(), bytes.size());
    CellBody cell;
    cell.kind = CellKind::notify;
    cell.slot = 40 + n;
    cell.slot_generation = 1;
    cell.remote_segment = 1;
    cell.arena_length = static_cast<std::uint32_t>(bytes.size());
    notifications.accept(sender, cell, now);
  }
  std::optional<Reason> ended(std::uint32_t n) const {
    const auto it = outcomes.find(40 + n);
    return it == outcomes.end() ? std::nullopt : std::optional(it->second);
  }

  void violation(Session&, Violation) override { ++violations; }
  Session* session(SessionId id) override { return id == sender.id ? &sender : &receiver; }
  void notification_ended(Session&, std::uint32_t slot, std::uint32_t, TaskState state,
                          Reason reason) override {
    EXPECT_EQ(state == TaskState::completed, reason == Reason::none);
    EXPECT_TRUE(outcomes.emplace(slot, reason).second) << "ended twice";
  }
  Notifications::Delivery deliver(Session&, const Notification& message) override {
    if (socket_full) return Notifications::Delivery::socket_full;
    serials.push_back(message.serial);
    return Notifications::Delivery::sent;
  }

  Time now = time_from_ns(1);
  Session sender, receiver;
  SegmentPtr segment = std::make_shared<Segment>();
  bool socket_full = false;
  int violations = 0;
  std::map<std::uint32_t, Reason> outcomes;
  std::vector<std::uint64_t> serials;
  Notifications notifications{*this, 3, 5s};
};

TEST_F(NotificationsTest, WithoutDataItGoesAtOnce) {
  send(1, {});
  EXPECT_EQ(ended(1), Reason::none);
  EXPECT_EQ(serials, std::vector<std::uint64_t>{1});
}

TEST_F(NotificationsTest, WaitsForAllOfItsData) {
  start_owner(0);
  start_owner(1);
  send(1, {{0, 1}, {1, 1}});
  end_owner(1, TaskState::completed);
  EXPECT_EQ(ended(1), std::nullopt);
  end_owner(0, TaskState::completed);
  EXPECT_EQ(ended(1), Reason::none);
}

TEST_F(NotificationsTest, DataThatEndedBeforeCounts) {
  start_owner(0);
  end_owner(0, TaskState::completed);
  send(1, {{0, 1}});
  EXPECT_EQ(ended(1), Reason::none);
  start_owner(1);
  end_owner(1, TaskState::failed);
  send(2, {{1, 1}});
  EXPECT_EQ(ended(2), Reason::predecessor_failed);
}

TEST_F(NotificationsTest, DataStillToBeDrainedFromAnotherRingIsWaitedFor) {
  send(1, {{0, 1}});
  EXPECT_EQ(ended(1), std::nullopt);
  start_owner(0);
  end_owner(0, TaskState::completed);
  EXPECT_EQ(ended(1), Reason::none);
}

TEST_F(NotificationsTest, FailedDataDropsIt) {
  start_owner(0);
  send(1, {{0, 1}});
  end_owner(0, TaskState::canceled);
  EXPECT_EQ(ended(1), Reason::predecessor_failed);
  EXPECT_TRUE(serials.empty());
}

TEST_F(NotificationsTest, FullSocketKeepsTheOrderAndTheMailboxIsBounded) {
  socket_full = true;
  for (std::uint32_t n = 1; n <= 3; ++n) send(n, {});
  EXPECT_EQ(ended(1), std::nullopt);
  send(4, {});
  EXPECT_EQ(ended(4), Reason::mailbox_full);
  socket_full = false;
  notifications.flush(receiver);
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(ended(3), Reason::none);
  send(5, {});
  EXPECT_EQ(ended(5), Reason::none);
}

TEST_F(NotificationsTest, ReceiverExpectedBackIsWaitedForWithinTheBudget) {
  segment->exporter = SessionId{};
  segment->expected = true;
  send(1, {});
  notifications.retry_expected(now);
  EXPECT_EQ(ended(1), std::nullopt);
  segment->exporter = receiver.id;
  segment->expected = false;
  notifications.retry_expected(now);
  EXPECT_EQ(ended(1), Reason::none);
  segment->exporter = SessionId{};
  segment->expected = true;
  send(2, {});
  now += 5s;
  notifications.retry_expected(now);
  EXPECT_EQ(ended(2), Reason::peer_lost);
}

TEST_F(NotificationsTest, ReceiverThatDiesFailsWhatWaitedForIt) {
  socket_full = true;
  send(1, {});
  notifications.forget(receiver);
  EXPECT_EQ(ended(1), Reason::peer_lost);
}

TEST_F(NotificationsTest, SenderThatDiesLeavesNothingBehind) {
  start_owner(0);
  send(1, {{0, 1}});
  socket_full = true;
  send(2, {});
  notifications.forget(sender);
  EXPECT_EQ(notifications.waiting(), 0u);
  socket_full = false;
  notifications.flush(receiver);
  EXPECT_TRUE(serials.empty());
}

TEST_F(NotificationsTest, ImpossibleArenaRangesAreRefused) {
  CellBody cell;
  cell.kind = CellKind::notify;
  cell.slot = 41;
  cell.slot_generation = 1;
  cell.remote_segment = 1;
  cell.arena_offset = 1 << 16;
  cell.arena_length = 64;
  notifications.accept(sender, cell, now);
  EXPECT_EQ(ended(1), Reason::invalid_cell);
  EXPECT_EQ(violations, 1);
}

}  // namespace
}  // namespace tentq
