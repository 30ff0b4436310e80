// The process of a flow. See flows.h.
#include "tests/bench/flows.h"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "tests/bench/clock.h"
#include "tests/bench/pattern.h"

namespace tentq::bench {
namespace {

void sleep_until(std::int64_t ns) {
  const std::int64_t left = ns - now_ns();
  if (left <= 0) return;
  const timespec time = {left / 1'000'000'000, left % 1'000'000'000};
  ::ppoll(nullptr, 0, &time, nullptr);
}

class Mover {
 public:
  Mover(const FlowOptions& options, const std::string& socket, const std::string& segment,
        const PairMemory& memory, std::span<double> latencies)
      : options_(options),
        mapped_(memory),
        attached_(socket, memory, mapped_, segment),
        latencies_(latencies),
        source_(options.op == Opcode::read ? mapped_.remote.data() : mapped_.local.data()),
        target_(options.op == Opcode::read ? mapped_.local.data() : mapped_.remote.data()) {}

  Report run(std::int64_t duration_ns) {
    ++fills_;
    for (std::uint32_t i = 0; i < options_.depth; ++i) {
      pattern(i).fill(block(source_, i));
      poison(block(target_, i));
    }
    Report report;
    moved_ = 0;
    longest_gap_ns_ = 0;
    samples_ = 0;
    report.begin_ns = last_ns_ = now_ns();
    const std::int64_t until = report.begin_ns + duration_ns;
    if (options_.every_ns == 0) {
      flood(until);
    } else {
      pace(report.begin_ns, until);
    }
    note_completion();
    report.end_ns = now_ns();
    report.figure = static_cast<double>(moved_ * options_.size);
    const std::uint64_t filled = std::min<std::uint64_t>(moved_, options_.depth);
    for (std::uint32_t i = 0; i < filled; ++i) {
      if (!pattern(i).matches(block(target_, i))) ++report.errors;
    }
    report.count = moved_;
    return report;
  }
  std::int64_t longest_gap_ns() const { return longest_gap_ns_; }
  std::uint64_t samples() const { return samples_; }

 private:
  Pattern pattern(std::uint32_t index) const {
    return {options_.seed, fills_ * options_.depth + index};
  }
  std::span<std::byte> block(std::byte* memory, std::uint64_t index) const {
    return {memory + index * options_.size, options_.size};
  }

  Batch submit(std::uint64_t index) {
    Batch batch = value_of(attached_.client.allocate_batch(1), "allocate_batch");
    const std::uint64_t offset = index % options_.depth * options_.size;
    const Request request = {options_.op, mapped_.local.data() + offset, attached_.segment, offset,
                             options_.size};
    check_ok(attached_.client.submit_wait(batch, {&request, 1}, {.cls = options_.cls}, kOrderLimit),
             "submit");
    return batch;
  }

  void finish(Batch& batch) {
    check_ok(batch.wait(kOrderLimit), "wait");
    const BatchStatus status = batch.overall();
    if (status.state != State::completed) {
      throw std::runtime_error("a transfer ended " + std::string(to_string(status.state)) + ": " +
                               std::string(to_string(status.reason)));
    }
    ++moved_;
    note_completion();
  }

  void note_completion() {
    const std::int64_t now = now_ns();
    longest_gap_ns_ = std::max(longest_gap_ns_, now - last_ns_);
    last_ns_ = now;
  }

  void flood(std::int64_t until) {
    std::deque<Batch> outstanding;
    for (std::uint64_t next = 0; now_ns() < until; ++next) {
      if (outstanding.size() == options_.depth) {
        finish(outstanding.front());
        outstanding.pop_front();
      }
      outstanding.push_back(submit(next));
    }
    for (Batch& batch : outstanding) finish(batch);
  }

  // Each at its time; one that is late pays for it.
  void pace(std::int64_t begin, std::int64_t until) {
    const std::int64_t phase = static_cast<std::int64_t>(options_.seed % 7) * options_.every_ns / 7;
    for (std::uint64_t next = 0;; ++next) {
      const std::int64_t due = begin + phase + static_cast<std::int64_t>(next) * options_.every_ns;
      if (due >= until) return;
      sleep_until(due);
      Batch batch = submit(next);
      finish(batch);
      if (samples_ < latencies_.size()) {
        latencies_[samples_++] = static_cast<double>(now_ns() - due) / 1e3;
      }
    }
  }

  const FlowOptions& options_;
  MappedPair mapped_;
  AttachedClient attached_;
  std::span<double> latencies_;
  std::byte* source_;
  std::byte* target_;
  std::uint64_t fills_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t samples_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t longest_gap_ns_ = 0;
};

}  // namespace

Flow::Flow(const HostPair& hosts, const FlowOptions& options)
    : options_(options),
      memory_(options.size * options.depth),
      exporter_(start_exporter(options.from_first ? hosts.exporter_socket() : hosts.client_socket(),
                               memory_, options.name)),
      client_(start(hosts)) {
  await_ready(client_);
}

test::Role Flow::start(const HostPair& hosts) {
  await_ready(exporter_);
  const std::string socket = options_.from_first ? hosts.client_socket() : hosts.exporter_socket();
  const std::string segment =
      options_.from_first ? hosts.segment(options_.name) : hosts.segment_of_clients(options_.name);
  return test::Role(options_.name + "-client", kRoleLimit,
                    [this, socket, segment](test::RoleChannel& channel) {
                      Mover mover(options_, socket, segment, memory_, latencies_.span());
                      return serve_orders(channel, [&](const Order& order) {
                        const Report report = mover.run(static_cast<std::int64_t>(order.count));
                        shared_[0].longest_gap_ns = mover.longest_gap_ns();
                        shared_[0].count.store(mover.samples(), std::memory_order_release);
                        return report;
                      });
                    });
}

void Flow::begin(std::int64_t duration_ns) {
  client_.channel().send(Order{OrderKind::subject, 0, static_cast<std::uint64_t>(duration_ns)});
}

FlowTotals Flow::end() {
  const auto report = client_.channel().receive<Report>(kOrderLimit);
  if (!report) throw std::runtime_error(options_.name + ": ended or gave no answer in time");
  if (!report->ok)
    throw std::runtime_error(options_.name + ": " + std::string(report->text.view()));
  FlowTotals totals;
  totals.bytes = report->figure;
  totals.errors = report->errors;
  totals.took_ns = report->end_ns - report->begin_ns;
  totals.longest_gap_ns = shared_[0].longest_gap_ns;
  const std::uint64_t count = shared_[0].count.load(std::memory_order_acquire);
  const auto all = latencies_.span().first(count);
  totals.latencies_us.assign(all.begin(), all.end());
  return totals;
}

void Flow::stop() {
  std::vector<test::Role*> roles = {&client_, &exporter_};
  for (test::Role* role : roles) stop_all({&role, 1});
}

std::vector<FlowTotals> run_flows(const std::vector<Flow*>& flows, std::int64_t duration_ns) {
  for (Flow* flow : flows) flow->begin(duration_ns);
  std::vector<FlowTotals> totals;
  for (Flow* flow : flows) totals.push_back(flow->end());
  return totals;
}

}  // namespace tentq::bench
