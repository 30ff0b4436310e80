// A bulk client: a closed loop that keeps its depth outstanding, of one class, over one or several
// sessions.
#include <poll.h>

#include <deque>
#include <memory>
#include <vector>

#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/qos/roles.h"

namespace tentq::bench::qos {
namespace {

constexpr int kLongestSleepMs = 20;

struct Owner {
  Batch batch;
  std::uint64_t offset = 0;
  std::uint32_t buffer = 0;
};

// One attachment with memory of its own.
class BulkSession {
 public:
  BulkSession(const Setup& setup, const BulkSpec& spec, std::uint32_t index, std::uint32_t depth)
      : spec_(spec),
        depth_(depth),
        client_(attach(setup, spec.name + "-" + std::to_string(index),
                       index == 0 ? spec.uid : std::nullopt)),
        memory_(value_of(client_.allocate(depth * spec.owner_bytes), "allocate")),
        segment_(value_of(client_.open_segment(kExporter), "open_segment")),
        fd_(value_of(client_.completion_fd(), "completion_fd")),
        pattern_(setup.seed, 0),
        counter_(setup.counters[spec.number]),
        next_offset_(spec.number * spec.owner_bytes % kSourceBytes) {
    for (std::uint32_t i = depth; i-- > 0;) free_.push_back(i);
  }

  int fd() const { return fd_; }
  void drive() { check_ok(client_.drive(), "drive"); }

  // Takes what is done, fills up to the depth. True if it got anywhere.
  bool turn(Report* report) {
    bool progressed = false;
    while (!outstanding_.empty() && outstanding_.front().batch.done()) {
      take_oldest();
      progressed = true;
    }
    while (outstanding_.size() < depth_ && submit(report)) progressed = true;
    return progressed;
  }

  // A cancel may find no room in the ring; it is asked for again until all are done.
  void end() {
    while (!outstanding_.empty()) {
      for (Owner& owner : outstanding_) {
        if (!owner.batch.done()) (void)client_.cancel(owner.batch);
      }
      (void)outstanding_.front().batch.wait(std::chrono::milliseconds{50});
      while (!outstanding_.empty() && outstanding_.front().batch.done()) take_oldest();
    }
  }

 private:
  bool submit(Report* report) {
    Owner owner;
    owner.buffer = free_.back();
    owner.offset = next_offset_;
    owner.batch = value_of(client_.allocate_batch(1), "allocate_batch");
    const std::span<std::byte> to = buffer(owner.buffer);
    spoil(to);
    const Request request = {Opcode::read, to.data(), segment_, owner.offset, to.size()};
    const Status status = client_.submit(owner.batch, {&request, 1}, {.cls = spec_.cls});
    if (!status.ok()) {
      if (!status.may_retry()) check_ok(status, "submit");
      ++report->refused;
      return false;
    }
    free_.pop_back();
    outstanding_.push_back(std::move(owner));
    next_offset_ += spec_.owner_bytes;
    if (next_offset_ + spec_.owner_bytes > kSourceBytes) next_offset_ = 0;
    return true;
  }

  void take_oldest() {
    Owner& owner = outstanding_.front();
    const TaskStatus status = owner.batch.status(0);
    if (status.state == State::completed) {
      if (!verify(pattern_, buffer(owner.buffer), owner.offset)) {
        counter_.errors.fetch_add(1, std::memory_order_relaxed);
      }
      counter_.bytes.fetch_add(spec_.owner_bytes, std::memory_order_relaxed);
    } else if (status.state != State::canceled) {
      counter_.errors.fetch_add(1, std::memory_order_relaxed);
    }
    free_.push_back(owner.buffer);
    outstanding_.pop_front();
  }

  std::span<std::byte> buffer(std::uint32_t index) const {
    return memory_.bytes().subspan(index * spec_.owner_bytes, spec_.owner_bytes);
  }

  const BulkSpec& spec_;
  std::uint32_t depth_;
  Client client_;
  Memory memory_;
  Segment segment_;
  int fd_;
  Pattern pattern_;
  BulkCounter& counter_;
  std::uint64_t next_offset_;
  std::vector<std::uint32_t> free_;  // buffers
  std::deque<Owner> outstanding_;
};

class BulkClient {
 public:
  BulkClient(const Setup& setup, const BulkSpec& spec) : spec_(spec) {
    const std::uint32_t depth = std::max(spec.depth / spec.sessions, 1u);
    for (std::uint32_t i = 0; i < spec.sessions; ++i) {
      sessions_.push_back(std::make_unique<BulkSession>(setup, spec_, i, depth));
    }
  }

  Report run(test::RoleChannel& channel) {
    Report report;
    std::vector<pollfd> fds = {{channel.fd(), POLLIN, 0}};
    for (const auto& session : sessions_) fds.push_back({session->fd(), POLLIN, 0});
    bool looked_again = false;
    while (::poll(fds.data(), 1, 0) == 0) {
      bool progressed = false;
      for (auto& session : sessions_) progressed = session->turn(&report) || progressed;
      if (progressed) {
        looked_again = false;
      } else if (!looked_again) {
        for (auto& session : sessions_) session->drive();
        looked_again = true;
      } else {
        ::poll(fds.data(), fds.size(), kLongestSleepMs);
        looked_again = false;
      }
    }
    for (auto& session : sessions_) session->end();
    return report;
  }

 private:
  BulkSpec spec_;
  std::vector<std::unique_ptr<BulkSession>> sessions_;
};

}  // namespace

test::Role start_bulk(const Setup& setup, const BulkSpec& spec) {
  return test::Role(spec.name, kRoleLimit, [&setup, spec](test::RoleChannel& channel) {
    BulkClient client(setup, spec);
    return serve_orders(channel, [&](const Order& order) {
      return order.kind == OrderKind::subject ? client.run(channel) : Report{};
    });
  });
}

}  // namespace tentq::bench::qos
