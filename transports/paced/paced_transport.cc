// See paced_transport.h.
#include "transports/paced/paced_transport.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "proto/check.h"

namespace tentq {
namespace {

constexpr std::uint32_t kMostChunks = 1u << 20;

// A full inner transport is asked again after this long if none of its completions comes first.
constexpr Duration kAskAgain = std::chrono::microseconds{100};

PacedOptions checked(PacedOptions options) {
  if (options.bytes_per_second == 0) {
    throw std::invalid_argument("paced: bytes_per_second must be at least 1");
  }
  if (options.queue_chunks == 0 || options.queue_chunks > kMostChunks) {
    throw std::invalid_argument("paced: queue_chunks must be 1 to 1,048,576");
  }
  return options;
}

bool watch(int epoll, int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

PacedTransport::PacedTransport(Transport* inner, PaceClock* clock, PacedOptions options)
    : inner_(inner), clock_(clock), options_(checked(options)), chunks_(options_.queue_chunks) {
  ended_here_.reserve(options_.queue_chunks);
  any_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (any_fd_ < 0 || !watch(any_fd_, inner->wakeup_fd()) || !watch(any_fd_, clock->fd()) ||
      !watch(any_fd_, own_wakeup_.fd())) {
    const int error = errno;
    if (any_fd_ >= 0) close(any_fd_);
    throw std::system_error(error, std::generic_category(), "epoll");
  }
}

PacedTransport::~PacedTransport() {
  close(any_fd_);
}

PostOutcome PacedTransport::post(std::span<const Chunk> chunks) {
  PostOutcome outcome;
  if (chunks.empty()) return outcome;
  const Time now = clock_->now();
  for (const Chunk& chunk : chunks) {
    TENTQ_CHECK(chunk.length > 0);
    // What ended in here holds its entry until it is polled.
    const bool room = chunks_.used() + ended_here_.size() < options_.queue_chunks;
    if (!room || !chunks_.append(chunk, now)) {
      outcome.refusal = PostRefusal::saturated;
      break;
    }
    ++waiting_;
    ++outcome.accepted;
  }
  serve_due(now);
  if (armed_ && !watch_for_next(now)) own_wakeup_.ring();
  return outcome;
}

// Hands over what is due for service. A late conductor finds several: their services follow one
// another on the link all the same. True if there were any.
bool PacedTransport::serve_due(Time now) {
  bool any = false;
  for (PacedLane& lane : chunks_.lanes()) {
    while (serve_lane(lane, now)) any = true;
  }
  return any;
}

// True if it served one.
bool PacedTransport::serve_lane(PacedLane& lane, Time now) {
  if (inner_full_ || lane.first_waiting == PacedChunks::kNone) return false;
  const std::uint32_t slot = lane.first_waiting;
  const Chunk chunk = chunks_[slot].chunk;
  const Time posted = chunks_[slot].posted;
  if (lane.server.start_of(posted) > now) return false;
  const PostOutcome outcome = inner_->post({&chunk, 1});
  if (outcome.accepted == 0 && outcome.refusal == PostRefusal::saturated) {
    inner_full_ = true;
    return false;
  }
  --waiting_;
  if (outcome.accepted == 0) {
    chunks_.remove(slot);
    ended_here_.push_back({chunk.id, 0, ChunkOutcome::failed});
    own_wakeup_.ring();
    return true;
  }
  chunks_.begin(lane, lane.server.serve(posted, chunk.length, options_.bytes_per_second));
  return true;
}

// Completions of the inner transport, and what may begin now: until neither leads to the other.
void PacedTransport::advance(Time now) {
  do {
    collect();
  } while (serve_due(now));
}

void PacedTransport::collect() {
  inner_full_ = false;
  std::array<Completion, 64> batch;
  std::size_t count = 0;
  do {
    count = inner_->poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      const auto slot = chunks_.find(batch[i].id);
      TENTQ_CHECK(slot.has_value() && chunks_[*slot].state == PacedState::moving);
      chunks_[*slot].completion = batch[i];
      chunks_[*slot].state = PacedState::moved;
    }
  } while (count == batch.size());
}

std::size_t PacedTransport::poll(std::span<Completion> completions) {
  disarm();
  const Time now = clock_->now();
  advance(now);
  std::size_t count = 0;
  while (count < completions.size() && !ended_here_.empty()) {
    completions[count++] = ended_here_.back();
    ended_here_.pop_back();
  }
  std::vector<PacedLane>& lanes = chunks_.lanes();
  for (std::size_t looked = 0; looked < lanes.size() && count < completions.size(); ++looked) {
    PacedLane& lane = lanes[next_lane_ % lanes.size()];
    while (count < completions.size() && reportable(lane, now)) {
      const std::uint32_t slot = lane.first;
      completions[count++] = chunks_[slot].completion;
      chunks_.remove(slot);
    }
    next_lane_ = (next_lane_ + 1) % lanes.size();
  }
  return count;
}

bool PacedTransport::reportable(const PacedLane& lane, Time now) const {
  if (lane.first == PacedChunks::kNone) return false;
  const PacedChunk& first = chunks_[lane.first];
  return first.state == PacedState::moved && first.due <= now;
}

bool PacedTransport::any_reportable(Time now) const {
  if (!ended_here_.empty()) return true;
  return std::any_of(chunks_.lanes().begin(), chunks_.lanes().end(),
                     [&](const PacedLane& lane) { return reportable(lane, now); });
}

void PacedTransport::cancel(ChunkId id) {
  const auto slot = chunks_.find(id);
  if (!slot) return;
  if (chunks_[*slot].state != PacedState::waiting) {
    inner_->cancel(id);
    return;
  }
  --waiting_;
  chunks_.remove(*slot);
  ended_here_.push_back({id, 0, ChunkOutcome::canceled});
  own_wakeup_.ring();
}

bool PacedTransport::arm_wakeup() {
  disarm();
  const Time now = clock_->now();
  advance(now);
  armed_ = true;
  own_wakeup_.arm();
  if (watch_for_next(now)) return true;
  disarm();
  return false;
}

// The alarm for the next service that ends or begins; the inner transport only for a service that
// is over while its bytes still move, so that a sleeper is not woken for what cannot be reported
// yet. False: poll() would find something.
bool PacedTransport::watch_for_next(Time now) {
  if (any_reportable(now)) return false;
  Time next = kNever;
  bool wait_for_inner = inner_full_;
  if (inner_full_) next = now + kAskAgain;
  for (const PacedLane& lane : chunks_.lanes()) {
    if (lane.first != PacedChunks::kNone && chunks_[lane.first].state != PacedState::waiting) {
      const Time due = chunks_[lane.first].due;
      if (due > now) {
        next = std::min(next, due);
      } else {
        wait_for_inner = true;
      }
    }
    if (lane.first_waiting != PacedChunks::kNone && !inner_full_) {
      next = std::min(next, lane.server.start_of(chunks_[lane.first_waiting].posted));
    }
  }
  if (wait_for_inner && !inner_->arm_wakeup()) return false;
  if (next != kNever) {
    clock_->set_alarm(next);
    alarm_set_ = true;
  }
  return true;
}

void PacedTransport::disarm() {
  own_wakeup_.disarm();
  armed_ = false;
  if (!alarm_set_) return;
  alarm_set_ = false;
  clock_->clear_alarm();
}

}  // namespace tentq
