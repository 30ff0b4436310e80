// What one session submits, and when. Open loads follow a schedule; the others keep something
// outstanding and block where the library's submit_wait() would. Virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "tests/bench/qos/arrivals.h"
#include "tests/bench/statistics.h"
#include "tests/sim/agenda.h"
#include "tests/sim/host.h"

namespace tentq::sim {

// What one session of a trace submits, and when.
struct TraceStep {
  std::int64_t at_ns = 0;
  std::uint32_t lane = 0;
};

// A seed of its own for each number.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t number);
// That a session of it needs.
std::uint32_t slots_of(const ClientSpec& client);

struct LoadShape {
  ClientSpec client;
  std::uint32_t number = 0;  // of the session in its group
  std::uint64_t seed = 1;
  double mean_gap_ns = 0;  // open
  std::int64_t end_ns = 0;
  std::vector<TraceStep> steps;  // trace: in order of time
};

class Load : public Party {
 public:
  // Registers itself with the agenda; the host and the agenda outlive it.
  Load(const LoadShape& shape, Host* host, Agenda* agenda);
  void attach(SessionId session) { session_ = session; }
  std::uint32_t actor() const { return actor_; }
  // It is due.
  virtual void act() = 0;
  // The run is over: how many owners it should have submitted and could not.
  virtual std::uint64_t unsubmitted() const = 0;

 protected:
  struct Next {
    std::uint32_t lane;
    std::uint64_t length;
  };
  Next next() const;
  // False: no credit. Takes the next one otherwise.
  bool submit(std::int64_t intended_ns);
  bool over() const { return host_->now_ns() >= until_ns_; }

  LoadShape shape_;
  Host* host_;
  Agenda* agenda_;
  SessionId session_;
  std::uint32_t actor_;
  std::int64_t until_ns_;
  std::uint64_t count_ = 0;  // submitted
};

// Submits at planned times whatever is outstanding; a refused submit is repeated a millisecond
// later and counts from its planned time.
class OpenLoad final : public Load {
 public:
  OpenLoad(const LoadShape& shape, Host* host, Agenda* agenda);
  void act() override;
  void ended(const core::OwnerEnded&, std::int64_t) override {}
  void credit_raised() override {}
  std::uint64_t unsubmitted() const override { return refused_.size(); }

 private:
  void plan();

  bench::qos::Arrivals arrivals_;
  std::int64_t planned_ns_ = 0;
  std::int64_t retry_ns_ = kNeverNs;
  std::deque<std::int64_t> refused_;  // their planned times
};

// Submits what is planned for it, at its time or as soon as there is credit.
class TraceLoad final : public Load {
 public:
  TraceLoad(const LoadShape& shape, Host* host, Agenda* agenda);
  void act() override;
  void ended(const core::OwnerEnded&, std::int64_t) override {
    if (blocked_) act();
  }
  void credit_raised() override {
    if (blocked_) act();
  }
  std::uint64_t unsubmitted() const override { return steps().size() - next_; }

 private:
  const std::vector<TraceStep>& steps() const { return shape_.steps; }

  std::size_t next_ = 0;
  bool blocked_ = false;
};

// Keeps owners outstanding: a number of them, bytes, or what there is to send once.
class KeepLoad final : public Load {
 public:
  KeepLoad(const LoadShape& shape, Host* host, Agenda* agenda);
  void act() override { fill(); }
  void ended(const core::OwnerEnded& end, std::int64_t intended_ns) override;
  void credit_raised() override;
  std::uint64_t unsubmitted() const override;

 private:
  bool wants_more() const;
  void fill();
  std::int64_t thought_ns();

  std::uint32_t outstanding_ = 0;
  std::uint64_t outstanding_bytes_ = 0;
  std::uint64_t most_bytes_ = 0;  // flood: of this session
  bool gave_up_ = false;          // what it sends is never admitted
  std::optional<std::int64_t> blocked_since_ns_;
  bench::Random random_;
  std::deque<std::int64_t> thinking_;  // when each submit that follows an end may come
};

std::unique_ptr<Load> make_load(const LoadShape& shape, Host* host, Agenda* agenda);

}  // namespace tentq::sim
