// An engine process: takes up its requests when they arrive, carries on all that are under way, and
// sleeps on its completion fd when none can go on.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <list>

#include "tests/bench/clock.h"
#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/replay/job.h"
#include "tests/bench/replay/roles.h"

namespace tentq::bench {
namespace {

constexpr std::size_t kMostJobs = 64;  // under way at a time
constexpr std::size_t kMostLookAheads = 2;
constexpr std::int64_t kLongestSleepNs = 1'000'000'000;

class Engine {
 public:
  Engine(Replay& replay, std::uint32_t number);
  Report run();

 private:
  static Client attach(const Replay& replay, std::uint32_t number);
  bool start_due(std::int64_t now_ns);
  bool step_all(std::int64_t now_ns);
  void nudge_others();
  void sleep(std::int64_t now_ns);
  std::int64_t arrival_ns(std::uint32_t request) const;

  Replay& replay_;
  std::uint32_t number_;
  Client client_;
  Memory memory_;
  std::vector<Segment> stores_;
  EngineParts parts_;
  BufferPool buffers_;
  int completion_fd_;
  std::uint32_t next_;  // request
  std::list<Job> jobs_;
  std::list<Job> look_aheads_;
};

Client Engine::attach(const Replay& replay, std::uint32_t number) {
  ConnectOptions options = connection(replay.socket, "engine-" + std::to_string(number));
  options.spin = std::chrono::nanoseconds{0};  // more processes than cores: never spin
  return value_of(Client::connect(options), "connect");
}

Engine::Engine(Replay& replay, std::uint32_t number)
    : replay_(replay),
      number_(number),
      client_(attach(replay, number)),
      memory_(
          value_of(client_.allocate(replay.options.buffers() * replay.options.block), "allocate")),
      parts_{replay, replay.totals[number], client_, stores_, memory_.data()},
      buffers_(replay.options.buffers()),
      completion_fd_(value_of(client_.completion_fd(), "completion_fd")),
      next_(number) {
  for (std::uint32_t store = 0; store < replay.options.stores; ++store) {
    const std::string segment = replay.prefix + store_name(store);
    stores_.push_back(value_of(client_.open_segment(segment), "open_segment"));
  }
}

Report Engine::run() {
  bool looked_again = false;  // drive() armed the fd and nothing was found since
  while (next_ < replay_.trace.size() || !jobs_.empty() || !look_aheads_.empty()) {
    const std::int64_t now = now_ns();
    bool progressed = start_due(now);
    progressed = step_all(now) || progressed;
    if (progressed) {
      looked_again = false;
    } else if (!looked_again) {
      // daemon_gone is transient: the library re-attaches, and its fd says so.
      (void)client_.drive();
      looked_again = true;
    } else {
      sleep(now);
      looked_again = false;
    }
  }
  return {};
}

std::int64_t Engine::arrival_ns(std::uint32_t request) const {
  const double speedup = replay_.options.speedup;
  const std::int64_t start = replay_.start_ns[0].load(std::memory_order_acquire);
  if (speedup <= 0) return start;
  const auto after_ms = static_cast<double>(replay_.trace[request].timestamp_ms) / speedup;
  return start + static_cast<std::int64_t>(after_ms * 1e6);
}

bool Engine::start_due(std::int64_t now_ns) {
  bool started = false;
  // Once per call: what is opened meanwhile nudges.
  const std::uint64_t end = replay_.open_until[0].load(std::memory_order_acquire);
  while (next_ < end && jobs_.size() < kMostJobs && arrival_ns(next_) <= now_ns &&
         buffers_.available() >= replay_.trace[next_].blocks.size()) {
    replay_.late_us[next_] = static_cast<double>(now_ns - arrival_ns(next_)) / 1e3;
    jobs_.push_back(Job::request(parts_, buffers_, next_));
    next_ += replay_.options.engines;
    if (next_ < replay_.trace.size() && look_aheads_.size() < kMostLookAheads) {
      look_aheads_.push_back(Job::look_ahead(parts_, buffers_, next_));
    }
    started = true;
  }
  return started;
}

bool Engine::step_all(std::int64_t now_ns) {
  bool progressed = false;
  for (std::list<Job>* list : {&jobs_, &look_aheads_}) {
    for (Job& job : *list) {
      progressed = job.step(parts_, buffers_, now_ns) || progressed;
      if (job.take_finished_writes()) nudge_others();
    }
    list->remove_if([](const Job& job) { return job.done(); });
  }
  return progressed;
}

void Engine::nudge_others() {
  for (std::uint32_t i = 0; i < replay_.nudges.size(); ++i) {
    if (i != number_) nudge(replay_, i);
  }
}

void Engine::sleep(std::int64_t now_ns) {
  std::int64_t until = now_ns + kLongestSleepNs;
  if (next_ < replay_.trace.size() && jobs_.size() < kMostJobs) {
    const std::int64_t arrival = arrival_ns(next_);
    // One that has arrived waits for buffers, that is for a completion, or for a nudge.
    if (arrival > now_ns) until = std::min(until, arrival);
  }
  for (const std::list<Job>* list : {&jobs_, &look_aheads_}) {
    for (const Job& job : *list) until = std::min(until, job.due_ns());
  }
  const int nudged = replay_.nudges[number_].get();
  pollfd fds[2] = {{completion_fd_, POLLIN, 0}, {nudged, POLLIN, 0}};
  const std::int64_t left = std::max<std::int64_t>(until - now_ns, 0);
  const timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
  ::ppoll(fds, 2, &timeout, nullptr);
  std::uint64_t count = 0;
  if ((fds[1].revents & POLLIN) != 0) (void)!::read(nudged, &count, sizeof(count));
}

}  // namespace

test::Role start_engine(Replay& replay, std::uint32_t engine, std::chrono::seconds limit) {
  const std::string name = "engine-" + std::to_string(engine);
  return test::Role(name, limit, [&replay, engine](test::RoleChannel& channel) {
    Engine process(replay, engine);
    return serve_orders(channel, [&](const Order&) { return process.run(); });
  });
}

}  // namespace tentq::bench
