// The flood: bulk background work of a process that does not care about anybody else.
#include <poll.h>

#include <algorithm>
#include <deque>
#include <tentq/tentq.hpp>

#include "tests/bench/orders.h"
#include "tests/bench/pair.h"
#include "tests/bench/replay/roles.h"

namespace tentq::bench {
namespace {

using namespace size_literals;
constexpr std::size_t kOwnerBytes = 16_MiB;
constexpr std::size_t kHalfBytes = 64_MiB;

bool ordered(test::RoleChannel& channel) {
  pollfd entry = {channel.fd(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

class Flood {
 public:
  explicit Flood(const Replay& replay)
      : depth_(std::max<std::uint64_t>(replay.options.flood / kOwnerBytes, 1)) {
    ConnectOptions options = connection(replay.socket, "flood");
    options.spin = std::chrono::nanoseconds{0};
    client_ = value_of(Client::connect(options), "connect");
    memory_ = value_of(client_->allocate(2 * kHalfBytes), "allocate");
    segment_ = value_of(client_->open_segment("flood"), "open_segment");
  }

  // Fills up to the depth, waits a moment for the oldest, and takes what is done.
  void turn(Report* report) {
    while (outstanding_.size() < depth_ && submit(report)) {
    }
    if (outstanding_.empty()) return;
    (void)outstanding_.front().wait(std::chrono::milliseconds{100});
    while (!outstanding_.empty() && outstanding_.front().done()) take_oldest(report);
  }

  void end(Report* report) {
    for (Batch& batch : outstanding_) (void)client_->cancel(batch);
    while (!outstanding_.empty()) {
      check_ok(outstanding_.front().wait(kOrderLimit), "wait");
      take_oldest(report);
    }
  }

 private:
  bool submit(Report* report) {
    const std::size_t offset = next_++ % (kHalfBytes / kOwnerBytes) * kOwnerBytes;
    Batch batch = value_of(client_->allocate_batch(1), "allocate_batch");
    const Request request = {Opcode::write, memory_.data() + offset, segment_,
                             memory_.region().segment_offset + kHalfBytes + offset, kOwnerBytes};
    const Status status = client_->submit(batch, {&request, 1}, {.cls = Class::background});
    if (status.ok()) {
      outstanding_.push_back(std::move(batch));
      return true;
    }
    if (!status.may_retry()) check_ok(status, "submit");
    ++report->refused;
    return false;
  }

  void take_oldest(Report* report) {
    report->count += outstanding_.front().overall().bytes;
    outstanding_.pop_front();
  }

  std::uint64_t depth_;
  std::optional<Client> client_;
  Memory memory_;
  Segment segment_;
  std::deque<Batch> outstanding_;
  std::uint64_t next_ = 0;
};

}  // namespace

test::Role start_flood(Replay& replay, std::chrono::seconds limit) {
  return test::Role("flood", limit, [&replay](test::RoleChannel& channel) {
    Flood flood(replay);
    return serve_orders(channel, [&](const Order&) {
      Report report;
      // At least one transfer, or there was no flood.
      while (report.count == 0 || !ordered(channel)) flood.turn(&report);
      flood.end(&report);
      return report;
    });
  });
}

}  // namespace tentq::bench
