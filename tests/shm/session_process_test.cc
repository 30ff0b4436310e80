// A client process and this one over the same session memory: the futex on a read-only mapping, a
// doorbell that a death does not need, and requests and statuses that really cross.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "shm/credit.h"
#include "shm/handshake.h"
#include "shm/packet_socket.h"
#include "shm/ring.h"
#include "shm/session_memory.h"
#include "shm/status_table.h"

namespace tentq::shm {
namespace {

constexpr ClassId kClass = ClassId::foreground;
constexpr std::chrono::seconds kPatience{20};

SessionSizes small_sizes() {
  SessionSizes sizes;
  sizes.class_mask = bit_of(kClass);
  sizes.ring_cells = 64;
  sizes.ring_reserved = 8;
  sizes.slots = 64;
  return sizes;
}

struct Session {
  OwnedSessionMemory memory;
  Fd doorbell, daemon_end, client_end;
  Session() {
    EXPECT_EQ(create_session_memory(small_sizes(), &memory), 0);
    EXPECT_EQ(create_doorbell(&doorbell), 0);
    EXPECT_EQ(create_completion_pair(&daemon_end, &client_end), 0);
  }
};

// A client of its own process. Submits `calls` calls of one owner each and waits for every end;
// its exit status is 0 only if each was seen completed, in time, with the right bytes.
int client_main(const Session& session, std::uint32_t calls) {
  MappedSessionMemory mapped;
  if (map_session_memory(session.memory.req_fd.get(), session.memory.sta_fd.get(), small_sizes(),
                         &mapped) != 0) {
    return 10;
  }
  ReqHeader* req = mapped.view.req();
  const StaHeader* sta = mapped.view.sta();
  const std::size_t c = index_of(kClass);
  RingProducer ring(mapped.view.ring(kClass), 64, 8, &req->tails[c].value, &sta->heads[c].value);
  CreditSpender credit(&req->consumed[c], &sta->granted[c], &req->wanted[c]);
  DoorbellRinger ringer(&req->published.value, &sta->need_wakeup.value, session.doorbell.get());
  CompletionWaiter waiter(&sta->completions.value, &req->waiters.value,
                          &req->completion_fd_armed.value);
  const StatusReader status(mapped.view.slots(), mapped.view.dirty(), 64);
  for (std::uint32_t call = 1; call <= calls; ++call) {
    CellBody body;
    body.kind = CellKind::transfer;
    body.slot = call % 64;
    body.slot_generation = call;
    body.length = call;
    if (!credit.spend({1, call, 0})) return 11;
    if (!ring.publish({&body, 1}, RingUse::work)) return 12;
    ringer.published();
    for (;;) {
      const std::uint32_t ticket = waiter.ticket();
      if (is_terminal(status.word(body.slot, call).state)) break;
      const auto begin = std::chrono::steady_clock::now();
      waiter.wait(ticket, kPatience);
      if (std::chrono::steady_clock::now() - begin >= kPatience) return 13;
    }
    if (status.view(body.slot, call).bytes_done != call) return 14;
  }
  return 0;
}

TEST(SessionProcess, RequestsAndStatusesCrossWithBothSidesSleeping) {
  constexpr std::uint32_t kCalls = 3'000;
  Session session;
  ReqHeader* req = session.memory.view.req();
  StaHeader* sta = session.memory.view.sta();
  const std::size_t c = index_of(kClass);
  RingConsumer ring(session.memory.view.ring(kClass), 64, &req->tails[c].value,
                    &sta->heads[c].value);
  CreditGrantor credit(&req->consumed[c], &sta->granted[c], &req->wanted[c]);
  DoorbellSleeper sleeper(&req->published.value, &sta->need_wakeup.value);
  CompletionNotifier notifier(&sta->completions.value, &req->waiters.value,
                              &req->completion_fd_armed.value, session.daemon_end.get());
  StatusWriter status(session.memory.view.slots(), session.memory.view.dirty(), 64);
  credit.set_granted({kCalls, std::uint64_t{kCalls} * kCalls, 0});
  const pid_t client = ::fork();
  if (client == 0) ::_exit(client_main(session, kCalls));
  std::vector<CellBody> group(64);
  RingFault fault = RingFault::none;
  std::uint32_t done = 0, parked = 0;
  while (done < kCalls) {
    if (sleeper.changed()) {
      while (ring.take_group(group, &fault) != 0) {
        SlotView view;
        view.word = {group[0].slot_generation, TaskState::completed, Reason::none};
        view.bytes_done = group[0].length;
        status.open(group[0].slot, group[0].slot_generation, 1, 1);
        status.finish(group[0].slot, view);
        ++done;
      }
      ASSERT_EQ(fault, RingFault::none);
      ring.publish_head();
      notifier.notify();
    } else if (sleeper.park()) {
      ++parked;
      ASSERT_EQ(wait_readable(session.doorbell.get(), kPatience), 0) << "after " << done;
      drain_doorbell(session.doorbell.get());
      sleeper.unpark();
    }
  }
  int result = 0;
  ASSERT_EQ(::waitpid(client, &result, 0), client);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0) << "status " << result;
  EXPECT_GT(parked, 0u);
  EXPECT_EQ(credit.consumed().owners, kCalls);
}

// The daemon's word is mapped read-only by the client, and yet FUTEX_WAIT sleeps on it and a
// wake-up from another process ends the sleep.
TEST(SessionProcess, FutexOnTheReadOnlyMappingSleepsAndIsWoken) {
  Session session;
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  const Fd reading(report[0]);
  Fd writing(report[1]);
  const pid_t client = ::fork();
  if (client == 0) {
    MappedSessionMemory mapped;
    if (map_session_memory(session.memory.req_fd.get(), session.memory.sta_fd.get(), small_sizes(),
                           &mapped) != 0) {
      ::_exit(10);
    }
    CompletionWaiter waiter(&mapped.view.sta()->completions.value,
                            &mapped.view.req()->waiters.value,
                            &mapped.view.req()->completion_fd_armed.value);
    const auto begin = std::chrono::steady_clock::now();
    const bool slept = !waiter.wait(waiter.ticket(), std::chrono::milliseconds(20)) &&
                       std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20);
    if (!slept) ::_exit(11);
    const std::uint32_t ticket = waiter.ticket();
    if (::write(writing.get(), "r", 1) != 1) ::_exit(12);
    ::_exit(waiter.wait(ticket, kPatience) ? 0 : 13);
  }
  ASSERT_EQ(wait_readable(reading.get(), kPatience), 0);
  // Asleep, or about to be: its word says so, and then notify() must make the call that wakes it.
  std::atomic<std::uint32_t>& waiters = session.memory.view.req()->waiters.value;
  while (waiters == 0) std::this_thread::yield();
  CompletionNotifier notifier(&session.memory.view.sta()->completions.value, &waiters,
                              &session.memory.view.req()->completion_fd_armed.value, -1);
  EXPECT_TRUE(notifier.notify());
  int result = 0;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(::waitpid(client, &result, 0), client);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0) << "status " << result;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience);
}

}  // namespace
}  // namespace tentq::shm
