// A foreground client: an open loop. It submits at the planned times, whatever is outstanding, and
// sleeps on its completion fd until the next one.
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "tests/bench/clock.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/qos/roles.h"

namespace tentq::bench::qos {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000;
constexpr std::int64_t kLongestSleepNs = 100'000'000;
constexpr std::uint64_t kStep = 4096;  // of offsets in the source

struct Flight {
  Batch batch;
  std::int64_t intended_ns = 0;
  std::int64_t submitted_ns = 0;
  std::uint64_t offset = 0;
  std::uint32_t buffer = 0;
};

class Foreground {
 public:
  Foreground(const Setup& setup, std::uint32_t number, std::optional<uid_t> uid)
      : setup_(setup),
        number_(number),
        client_(attach(setup, "foreground-" + std::to_string(number), uid)),
        memory_(
            value_of(client_.allocate(setup.foreground_buffers * setup.options.size), "allocate")),
        segment_(value_of(client_.open_segment(kExporter), "open_segment")),
        fd_(value_of(client_.completion_fd(), "completion_fd")),
        pattern_(setup.seed, 0),
        random_(setup.seed * 1000 + number) {
    // Timers of this process are to be exact: it paces arrivals.
    ::prctl(PR_SET_TIMERSLACK, 1ul);
  }

  Report carry_out() {
    const ForegroundPlan& plan = setup_.plan[0];
    report_ = Report{};
    free_.clear();
    for (std::uint32_t i = setup_.foreground_buffers; i-- > 0;) free_.push_back(i);
    Arrivals arrivals(plan.spacing, plan.mean_gap_ns,
                      static_cast<double>(number_) / setup_.options.foreground_clients,
                      plan.seed * 1000 + number_);
    std::uint64_t planned = 1;
    std::int64_t next_ns = plan.start_ns + arrivals.next();
    bool looked_again = false;
    while (report_.count < plan.count) {
      bool progressed = reap(plan);
      std::int64_t now = now_ns();
      while (planned <= plan.count && next_ns <= now && now >= not_before_ns_ && !free_.empty()) {
        if (!submit(plan, next_ns)) break;
        progressed = true;
        next_ns = plan.start_ns + arrivals.next();
        ++planned;
        now = now_ns();
      }
      if (progressed) {
        looked_again = false;
      } else if (!looked_again) {
        check_ok(client_.drive(), "drive");
        looked_again = true;
      } else {
        sleep(planned <= plan.count ? std::max(next_ns, not_before_ns_) : now + kLongestSleepNs);
        looked_again = false;
      }
    }
    return report_;
  }

 private:
  bool submit(const ForegroundPlan& plan, std::int64_t intended_ns) {
    Flight flight;
    flight.intended_ns = intended_ns;
    flight.buffer = free_.back();
    flight.offset = random_.below((kSourceBytes - plan.size) / kStep + 1) * kStep;
    flight.batch = value_of(client_.allocate_batch(1), "allocate_batch");
    const std::span<std::byte> to = buffer(flight.buffer, plan.size);
    spoil(to);
    const Request request = {Opcode::read, to.data(), segment_, flight.offset, plan.size};
    flight.submitted_ns = now_ns();
    const Status status = client_.submit(flight.batch, {&request, 1}, {.cls = Class::foreground});
    if (!status.ok()) {
      if (!status.may_retry()) check_ok(status, "submit");
      ++report_.refused;
      not_before_ns_ = flight.submitted_ns + kRetryNs;
      return false;
    }
    free_.pop_back();
    flights_.push_back(std::move(flight));
    return true;
  }

  // All are looked at: a policy may complete them in any order.
  bool reap(const ForegroundPlan& plan) {
    const std::size_t before = flights_.size();
    for (Flight& flight : flights_) {
      if (flight.batch.done()) finish(plan, flight);
    }
    std::erase_if(flights_, [](const Flight& flight) { return !flight.batch; });
    return flights_.size() != before;
  }

  void finish(const ForegroundPlan& plan, Flight& flight) {
    const std::int64_t seen_ns = now_ns();
    const TaskStatus status = flight.batch.status(0);
    const std::int64_t written_ns =
        std::chrono::nanoseconds(status.completed.time_since_epoch()).count();
    const bool right = status.state == State::completed &&
                       verify(pattern_, buffer(flight.buffer, plan.size), flight.offset);
    if (!right) ++report_.errors;
    const auto since = [&](std::int64_t ns) {
      return static_cast<float>(static_cast<double>(ns - flight.intended_ns) / 1e3);
    };
    setup_.samples_of(number_)[report_.count++] = {since(seen_ns), since(written_ns),
                                                   since(flight.submitted_ns)};
    free_.push_back(flight.buffer);
    client_.free_batch(flight.batch);
  }

  void sleep(std::int64_t until_ns) {
    const std::int64_t left = std::clamp<std::int64_t>(until_ns - now_ns(), 0, kLongestSleepNs);
    const timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
    pollfd entry = {fd_, POLLIN, 0};
    ::ppoll(&entry, 1, &timeout, nullptr);
  }

  std::span<std::byte> buffer(std::uint32_t index, std::uint64_t size) const {
    return memory_.bytes().subspan(index * setup_.options.size, size);
  }

  const Setup& setup_;
  std::uint32_t number_;
  Client client_;
  Memory memory_;
  Segment segment_;
  int fd_;
  Pattern pattern_;
  Random random_;
  std::vector<std::uint32_t> free_;  // buffers
  std::deque<Flight> flights_;
  std::int64_t not_before_ns_ = 0;
  Report report_;
};

}  // namespace

test::Role start_foreground(const Setup& setup, std::uint32_t number, std::optional<uid_t> uid) {
  const std::string name = "foreground-" + std::to_string(number);
  return test::Role(name, kRoleLimit, [&setup, number, uid](test::RoleChannel& channel) {
    Foreground client(setup, number, uid);
    return serve_orders(channel, [&](const Order&) { return client.carry_out(); });
  });
}

}  // namespace tentq::bench::qos
