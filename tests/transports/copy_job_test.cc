// The table of jobs and the claim on a job's memory.
#include "transports/shm/copy_job.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tentq::test {
namespace {

Completion completion_of(const CopyJob& job) {
  Completion completion;
  job.describe(&completion);
  return completion;
}

ChunkId chunk_id(std::uint32_t n) {
  return {OwnerId{n % 5, n % 3}, n % 2, n};
}

TEST(CopyJob, OldTicketsTakeNothing) {
  JobTable jobs(1);
  const JobTicket first = *jobs.open(chunk_id(1));
  EXPECT_TRUE(jobs[0].withdraw());
  EXPECT_FALSE(jobs[0].withdraw());
  EXPECT_FALSE(jobs[0].take(first)) << "a canceled job was taken";
  jobs.close(0);
  const JobTicket second = *jobs.open(chunk_id(2));
  EXPECT_EQ(second.slot, first.slot);
  EXPECT_FALSE(jobs[0].take(first));
  EXPECT_TRUE(jobs[0].take(second));
  EXPECT_FALSE(jobs[0].take(second));
  EXPECT_FALSE(jobs[0].withdraw()) << "a running copy was withdrawn";
}

TEST(CopyJob, CopiesInPiecesAndCountsThem) {
  JobTable jobs(1);
  jobs.open(chunk_id(1));
  std::vector<std::byte> from(1000, std::byte{3}), to(1000);
  CopyJob& job = jobs[0];
  job.to = to.data();
  job.from = from.data();
  job.length = from.size();
  job.carry_out(300);
  EXPECT_EQ(completion_of(job).bytes, 1000u);
  EXPECT_EQ(completion_of(job).outcome, ChunkOutcome::done);
  EXPECT_EQ(from, to);
  job.ask_to_stop();
  job.carry_out(300);
  EXPECT_EQ(completion_of(job).bytes, 0u);
  EXPECT_EQ(completion_of(job).outcome, ChunkOutcome::canceled);
}

TEST(JobTable, FindsWhatIsIndexedAndNothingElse) {
  std::mt19937 random(3);
  JobTable jobs(50);
  std::map<std::uint32_t, std::uint32_t> open;  // chunk number → slot
  std::uint32_t next = 0;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0) {
      const auto ticket = jobs.open(chunk_id(next));
      ASSERT_EQ(ticket.has_value(), open.size() < 50);
      if (ticket) {
        jobs.index(ticket->slot);
        open[next++] = ticket->slot;
      }
    } else if (!open.empty()) {
      const auto victim = std::next(open.begin(), static_cast<int>(random() % open.size()));
      const std::uint32_t number = victim->first;
      jobs.close(victim->second);
      open.erase(victim);
      ASSERT_FALSE(jobs.find(chunk_id(number)));
    }
    ASSERT_EQ(jobs.used(), open.size());
    for (const auto& [number, slot] : open) ASSERT_EQ(jobs.find(chunk_id(number)), slot);
  }
}

}  // namespace
}  // namespace tentq::test
