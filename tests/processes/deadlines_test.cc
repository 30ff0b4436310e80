// Deadlines that cannot be met: refused or counted as configured, and the earliest goes first.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"

namespace tentq::test {
namespace {

using namespace std::chrono_literals;
using namespace tentq::size_literals;  // NOLINT: literals

// A lane of 128 MiB/s whose rate is known.
class Deadlines : public DaemonFixture {
 protected:
  void start_with(const char* mode) {
    start({{"limits", {{"deadlines", mode}}},
           {"shm",
            {{"paced_bytes_per_second", "128MiB"},
             {"window_bytes", "128KiB"},
             {"chunk_bytes", "64KiB"}}}});
    client_.emplace(attach(socket(), "engine"));
    memory_.emplace(allocate_at(*client_, 32_MiB));
    own_.emplace(need(client_->open_segment("engine"), "open_segment"));
    must_complete(*client_, request(8_MiB));
  }
  Request request(std::size_t bytes) {
    return write_to(*own_, 16_MiB, memory_->bytes().first(bytes));
  }
  // What the daemon says of it: ok when it is admitted.
  Status verdict(std::size_t bytes, std::chrono::nanoseconds deadline) {
    const Request wanted = request(bytes);
    batches_.push_back(need(client_->allocate_batch(1), "allocate_batch"));
    need(client_->submit(batches_.back(), std::span(&wanted, 1),
                         {.cls = Class::standard, .deadline = deadline}),
         "submit");
    return client_->wait_verdict(batches_.back(), kLong);
  }
  TaskStatus outcome(std::size_t batch) {
    need(batches_[batch].wait(kLong), "wait");
    return batches_[batch].status(0);
  }
  std::uint64_t rejected() {
    return counters().at("rejected_by_reason").value("unmeetable", std::uint64_t{0});
  }
  void TearDown() override {
    batches_.clear();
    own_.reset();
    memory_.reset();
    client_.reset();
    DaemonFixture::TearDown();
  }
  std::optional<Client> client_;
  std::optional<Memory> memory_;
  std::optional<Segment> own_;
  std::vector<Batch> batches_;
};

TEST_F(Deadlines, WhatCannotBeMetIsRefusedAtOnce) {
  start_with("enforce");
  const Status refused = verdict(16_MiB, 20ms);
  EXPECT_EQ(refused.code(), Code::unmeetable) << refused.to_string();
  EXPECT_FALSE(refused.may_retry());
  EXPECT_EQ(outcome(0).bytes, 0u);
  EXPECT_TRUE(verdict(1_MiB, 20s).ok());
  EXPECT_EQ(outcome(1).state, State::completed);
  EXPECT_EQ(rejected(), 1u);
  // Changed while it runs.
  command(daemon().admin_socket(), CommandKind::set, "limits.deadlines=advisory");
  EXPECT_TRUE(verdict(16_MiB, 20ms).ok());
  EXPECT_EQ(outcome(2).state, State::timeout);
  EXPECT_EQ(counters().at("admitted_unmeetable"), 1u);
  EXPECT_EQ(rejected(), 1u);
}

TEST_F(Deadlines, TheEarliestGoesFirst) {
  start_with("off");
  EXPECT_TRUE(verdict(4_MiB, 0ns).ok());
  EXPECT_TRUE(verdict(4_MiB, 50s).ok());
  EXPECT_TRUE(verdict(4_MiB, 40s).ok());
  std::vector<TaskStatus::TimePoint> completed;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome(i).state, State::completed);
    completed.push_back(outcome(i).completed);
  }
  EXPECT_LT(completed[2], completed[1]);
  EXPECT_LT(completed[1], completed[0]);
}

}  // namespace
}  // namespace tentq::test
