// See load.h.
#include "tests/sim/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tentq::sim {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000;
constexpr std::int64_t kSliceNs = 100'000'000;  // the library's, while it blocks

constexpr std::uint32_t kMostSlots = 4096;  // of a session; as the daemon's default

}  // namespace

std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  bench::Random random(seed ^ (number + 1) * 0x9e37'79b9'7f4a'7c15);
  return random.next();
}

std::uint32_t slots_of(const ClientSpec& client) {
  std::uint64_t slots = kMostSlots;
  if (client.kind == LoadKind::closed || client.kind == LoadKind::once) slots = client.depth;
  if (client.kind == LoadKind::flood) {
    slots = client.bytes / client.session_count() /
                *std::min_element(client.sizes.begin(), client.sizes.end()) +
            1;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, kMostSlots));
}

Load::Load(const LoadShape& shape, Host* host, Agenda* agenda)
    : shape_(shape),
      host_(host),
      agenda_(agenda),
      actor_(agenda->add()),
      until_ns_(std::min(shape.client.until_ns, shape.end_ns)) {
  agenda->set(actor_, shape.client.from_ns);
}

// Sessions begin at different sizes; every size meets every lane.
Load::Next Load::next() const {
  const std::vector<std::uint64_t>& sizes = shape_.client.sizes;
  const std::vector<std::uint32_t>& lanes = shape_.client.lanes;
  const std::uint64_t n = count_ + shape_.number;
  const std::uint64_t common = std::gcd(sizes.size(), lanes.size());
  const std::uint64_t shift = common == 1 ? 0 : n / (sizes.size() * lanes.size() / common);
  return {lanes[(n + shift) % lanes.size()], sizes[n % sizes.size()]};
}

bool Load::submit(std::int64_t intended_ns) {
  const Next one = next();
  if (!host_->submit(session_, shape_.client.cls, one.lane, one.length, intended_ns)) return false;
  count_ += 1;
  return true;
}

OpenLoad::OpenLoad(const LoadShape& shape, Host* host, Agenda* agenda)
    : Load(shape, host, agenda),
      arrivals_(shape.client.spacing, shape.mean_gap_ns,
                static_cast<double>(shape.number % shape.client.session_count()) /
                    shape.client.session_count(),
                shape.seed) {
  plan();
}

void OpenLoad::plan() {
  planned_ns_ = shape_.client.from_ns + std::max<std::int64_t>(0, arrivals_.next());
  if (planned_ns_ >= until_ns_) planned_ns_ = kNeverNs;
  agenda_->set(actor_, std::min(planned_ns_, retry_ns_));
}

void OpenLoad::act() {
  const std::int64_t now_ns = host_->now_ns();
  while (planned_ns_ <= now_ns) {
    refused_.push_back(planned_ns_);
    plan();
  }
  if (now_ns >= retry_ns_ || retry_ns_ == kNeverNs) {
    retry_ns_ = kNeverNs;
    while (!refused_.empty() && submit(refused_.front())) refused_.pop_front();
    if (!refused_.empty()) {
      host_->wish(session_, shape_.client.cls, next().length, false);
      retry_ns_ = now_ns + kRetryNs;
    }
  }
  agenda_->set(actor_, std::min(planned_ns_, retry_ns_));
}

TraceLoad::TraceLoad(const LoadShape& shape, Host* host, Agenda* agenda)
    : Load(shape, host, agenda) {
  agenda->set(actor_, steps().empty() ? kNeverNs : steps().front().at_ns);
}

void TraceLoad::act() {
  const std::uint64_t length = shape_.client.sizes[0];
  while (next_ < steps().size() && steps()[next_].at_ns <= host_->now_ns()) {
    const TraceStep& step = steps()[next_];
    if (!host_->submit(session_, shape_.client.cls, step.lane, length, step.at_ns)) {
      host_->wish(session_, shape_.client.cls, length, true);
      blocked_ = true;
      agenda_->set(actor_, host_->now_ns() + kSliceNs);
      return;
    }
    next_ += 1;
  }
  blocked_ = false;
  agenda_->set(actor_, next_ < steps().size() ? steps()[next_].at_ns : kNeverNs);
}

KeepLoad::KeepLoad(const LoadShape& shape, Host* host, Agenda* agenda)
    : Load(shape, host, agenda),
      most_bytes_(shape.client.bytes / shape.client.session_count()),
      random_(shape.seed) {}

// Exponential: most clients wake up soon, some late. One thread thinks for one owner at a time.
std::int64_t KeepLoad::thought_ns() {
  const double uniform = static_cast<double>(random_.next() >> 11) * 0x1p-53;  // [0, 1)
  const double thinks = -std::log1p(-uniform) * static_cast<double>(shape_.client.think_ns);
  const std::int64_t begin_ns =
      thinking_.empty() ? host_->now_ns() : std::max(host_->now_ns(), thinking_.back());
  return begin_ns + static_cast<std::int64_t>(thinks);
}

bool KeepLoad::wants_more() const {
  if (over() || gave_up_) return false;
  switch (shape_.client.kind) {
    case LoadKind::closed: return outstanding_ + thinking_.size() < shape_.client.depth;
    case LoadKind::once: return count_ < shape_.client.depth;
    case LoadKind::flood: return outstanding_bytes_ + next().length <= most_bytes_;
    case LoadKind::open:
    case LoadKind::trace: break;
  }
  return false;
}

// As submit_wait() does: it blocks with a wish, and tries again when its credit is raised, one of
// its owners ends, or a slice of its wait is over.
void KeepLoad::fill() {
  while (!thinking_.empty() && thinking_.front() <= host_->now_ns()) thinking_.pop_front();
  agenda_->set(actor_, thinking_.empty() ? kNeverNs : thinking_.front());
  while (wants_more()) {
    const std::uint64_t length = next().length;
    if (!submit(blocked_since_ns_.value_or(host_->now_ns()))) {
      if (!blocked_since_ns_) blocked_since_ns_ = host_->now_ns();
      host_->wish(session_, shape_.client.cls, length, true);
      agenda_->set(actor_, std::min(agenda_->due_ns(actor_), host_->now_ns() + kSliceNs));
      return;
    }
    blocked_since_ns_.reset();
    outstanding_ += 1;
    outstanding_bytes_ += length;
  }
}

void KeepLoad::ended(const core::OwnerEnded& end, std::int64_t) {
  outstanding_ -= 1;
  outstanding_bytes_ -= end.length;
  if (!end.owner.valid()) {
    gave_up_ = !may_retry(end.reason);
    if (!gave_up_) agenda_->set(actor_, host_->now_ns() + kRetryNs);
    return;
  }
  if (shape_.client.think_ns != 0) thinking_.push_back(thought_ns());
  fill();
}

void KeepLoad::credit_raised() {
  if (blocked_since_ns_) fill();
}

std::uint64_t KeepLoad::unsubmitted() const {
  return shape_.client.kind == LoadKind::once ? shape_.client.depth - count_ : 0;
}

std::unique_ptr<Load> make_load(const LoadShape& shape, Host* host, Agenda* agenda) {
  if (shape.client.kind == LoadKind::open) return std::make_unique<OpenLoad>(shape, host, agenda);
  if (shape.client.kind == LoadKind::trace) return std::make_unique<TraceLoad>(shape, host, agenda);
  return std::make_unique<KeepLoad>(shape, host, agenda);
}

}  // namespace tentq::sim
