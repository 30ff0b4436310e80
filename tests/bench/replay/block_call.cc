// Submitting, waiting, and repeating as a patient user does.
#include "tests/bench/replay/block_call.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "tests/bench/clock.h"
#include "tests/bench/pair.h"

namespace tentq::bench {
namespace {

constexpr std::int64_t kFirstBackoffNs = 100'000;
constexpr std::int64_t kMostBackoffNs = 10'000'000;
constexpr std::uint64_t kShownLosses = 10;    // described on standard error
constexpr std::uint32_t kMostAttempts = 100;  // of a block that was accepted and then refused

}  // namespace

bool BlockCall::step(EngineParts& engine, std::int64_t now_ns) {
  if (!started_) {
    started_ = true;
    for (std::uint32_t i = 0; i < moves_.size(); ++i) attempt_.push_back(i);
    first_ns_ = now_ns;
  }
  if (attempt_.empty()) return true;
  if (now_ns < not_before_ns_) return false;
  if (submitted_ < attempt_.size() && !submit_rest(engine, now_ns)) return attempt_.empty();
  if (!batch_.done()) return false;
  finish_attempt(engine, now_ns);
  return attempt_.empty();
}

std::int64_t BlockCall::due_ns() const {
  const bool due = started_ && submitted_ < attempt_.size();
  return due ? not_before_ns_ : std::numeric_limits<std::int64_t>::max();
}

Request BlockCall::request_of(EngineParts& engine, const BlockMove& move) const {
  const ReplayOptions& options = engine.replay.options;
  return {op_, engine.buffer(move.buffer).data(),
          engine.stores[store_of(options, move.placed.place)],
          offset_of(options, move.placed.place), options.block};
}

// True once all of the attempt is submitted.
bool BlockCall::submit_rest(EngineParts& engine, std::int64_t now_ns) {
  if (!batch_) {
    batch_ = value_of(engine.client.allocate_batch(static_cast<std::uint32_t>(attempt_.size())),
                      "allocate_batch");
  }
  while (submitted_ < attempt_.size()) {
    const std::size_t most = std::max(engine.client.limits().largest_call, 1u);
    std::vector<Request> requests;
    for (std::size_t i = submitted_; i < attempt_.size() && requests.size() < most; ++i) {
      requests.push_back(request_of(engine, moves_[attempt_[i]]));
    }
    if (!away_) ++(refused_ ? engine.totals.retries : engine.totals.calls);
    const Status status = engine.client.submit(batch_, requests, {.cls = cls_});
    if (status.ok()) {
      submitted_ += requests.size();
      refused_ = away_ = false;
      backoff_ns_ = 0;
      continue;
    }
    if (status.may_retry()) {
      away_ = status.code() == Code::daemon_gone;
      ++(away_ ? engine.totals.away : engine.totals.rejected);
      back_off(now_ns);
      return false;
    }
    std::fprintf(stderr, "submit: %s\n", status.to_string().c_str());
    engine.totals.lost += attempt_.size() - submitted_;
    engine.totals.given_up += attempt_.size() - submitted_;
    attempt_.resize(submitted_);
  }
  return !attempt_.empty();
}

void BlockCall::back_off(std::int64_t now_ns) {
  refused_ = true;
  backoff_ns_ = std::clamp(backoff_ns_ * 2, kFirstBackoffNs, kMostBackoffNs);
  not_before_ns_ = now_ns + backoff_ns_;
}

void BlockCall::finish_attempt(EngineParts& engine, std::int64_t now_ns) {
  std::vector<std::uint32_t> again;
  for (std::uint32_t task = 0; task < attempt_.size(); ++task) {
    BlockMove& move = moves_[attempt_[task]];
    const TaskStatus status = batch_.status(task);
    if (status.state == State::completed) {
      move.moved = true;
      engine.totals.bytes += engine.replay.options.block;
      const std::int64_t completed_ns =
          std::chrono::nanoseconds(status.completed.time_since_epoch()).count();
      last_ns_ = std::max(last_ns_, completed_ns > 0 ? completed_ns : now_ns);
    } else if (status.may_retry() && attempts_ < kMostAttempts) {
      again.push_back(attempt_[task]);
    } else {
      ++engine.totals.reasons[static_cast<std::size_t>(status.reason) % kReasons];
      if (++engine.totals.lost > kShownLosses) continue;
      std::fprintf(stderr, "block %llu: %s, %s\n",
                   static_cast<unsigned long long>(move.placed.block),
                   std::string(to_string(status.state)).c_str(),
                   std::string(to_string(status.reason)).c_str());
    }
  }
  attempt_ = std::move(again);
  submitted_ = 0;
  ++attempts_;
  engine.client.free_batch(batch_);
  batch_ = Batch();
  if (attempt_.empty()) return;
  ++engine.totals.rejected;
  back_off(now_ns);
}

}  // namespace tentq::bench
