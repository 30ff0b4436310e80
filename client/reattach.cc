// After a daemon's death: find out, attach to the next one under the same name, give it the same
// memory and segments, and take its session. What was unfinished is repeated by replay.cc.
#include <algorithm>
#include <random>

#include "client/attach.h"
#include "client/client_state.h"

namespace tentq::lib {

namespace {

constexpr std::chrono::milliseconds kFirstBackoff{2};
constexpr std::chrono::milliseconds kLongestBackoff{100};
constexpr std::chrono::milliseconds kLongestGivenUp{1000};

// Between half of it and all of it, so that a host's clients do not come in step.
Duration jittered(Duration backoff) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto ns = backoff.count();
  return Duration{ns / 2 + std::uniform_int_distribution<std::int64_t>(0, ns / 2)(random)};
}

}  // namespace

void ClientState::note_lost(Session& session) {
  {
    const Guard hold(lock_);
    if (!attached_ || session_.get() != &session) return;
    attached_ = false;
    lost_at_ = Clock::now();
    end_unrepeatable();
  }
  completion_fd_.unwatch(session);
  completion_fd_.raise();
  session.wake_sleepers();
}

Duration ClientState::until_next_attempt() {
  constexpr Duration kMeanwhile = std::chrono::milliseconds{10};  // another thread attaches
  const std::unique_lock attaching(lifecycle_, std::try_to_lock);
  if (!attaching.owns_lock()) return kMeanwhile;
  return std::max<Duration>(next_attempt_ - Clock::now(), Duration{1});
}

bool ClientState::try_reattach(Duration most) {
  const std::unique_lock attaching(lifecycle_, std::try_to_lock);
  if (!attaching.owns_lock() || stopping_.load(std::memory_order_acquire)) return false;
  Clock::time_point lost_at;
  {
    const Guard hold(lock_);
    if (attached_) return true;
    lost_at = lost_at_;
  }
  const Clock::time_point now = Clock::now();
  const Duration patience = options_.reattach_timeout - (now - lost_at);
  const bool shut_out = shut_out_.load(std::memory_order_relaxed);
  if (!given_up_ && (patience.count() <= 0 || shut_out)) give_up();
  if (shut_out) next_attempt_ = Clock::time_point::max();
  if (now < next_attempt_) return false;
  AttachRequest request;
  request.path = path_;
  request.hello = reattach_hello();
  request.until = now + (given_up_ ? most : std::min(most, patience));
  request.stop = &stopping_;
  Result<std::unique_ptr<Session>> session = attach(request, this);
  Restored restored;
  const Status status = session.ok() ? restore(**session, &restored) : session.status();
  if (status.ok()) {
    adopt(std::move(*session), restored);
    backoff_ = Duration{0};
    next_attempt_ = {};
    given_up_ = false;
    return true;
  }
  const Duration longest = given_up_ ? kLongestGivenUp : kLongestBackoff;
  backoff_ = std::clamp<Duration>(backoff_ * 2, kFirstBackoff, longest);
  next_attempt_ = Clock::now() + jittered(backoff_);
  return false;
}

Hello ClientState::reattach_hello() {
  std::uint32_t mask = 0;
  for (const Class cls : options_.classes) mask |= bit_of(static_cast<ClassId>(cls));
  Hello hello = make_hello(options_.name, incarnation_, mask);
  hello.reattach = 1;
  const Guard hold(lock_);
  hello.token = token_;
  for_each_unfinished([&](BatchState& batch, Owner& owner, std::uint32_t) {
    if (owner.cancel_asked) return;
    Outstanding& sum = hello.outstanding[index_of(batch.calls[owner.call].asked)];
    sum.owners += 1;
    sum.bytes += owner.length;
    sum.extents += 1;
  });
  return hello;
}

Status ClientState::restore(Session& session, Restored* restored) {
  if (Status status = restore_regions(session, restored); !status.ok()) return status;
  return restore_segments(session, restored);
}

// Entries stay where they are: while the client is not attached, nobody adds or removes any.
Status ClientState::restore_regions(Session& session, Restored* restored) {
  std::vector<RegionEntry*> wanted;
  {
    const Guard hold(lock_);
    for (const auto& [id, entry] : regions_.all()) {
      const bool retired = entry->phase == RegionEntry::Phase::retiring;
      if (entry->phase == RegionEntry::Phase::registering) continue;
      if (retired && !region_in_use(id)) continue;
      wanted.push_back(entry.get());
    }
  }
  std::sort(wanted.begin(), wanted.end(), [](auto* a, auto* b) { return a->id < b->id; });
  for (RegionEntry* entry : wanted) {
    std::uint32_t id = 0;
    Status status = register_at_daemon(session, *entry, {}, &id);
    if (session.lost()) return status;
    restored->regions.push_back({entry->id, id, status.text()});
  }
  return {};
}

Status ClientState::restore_segments(Session& session, Restored* restored) {
  std::vector<std::shared_ptr<SegmentEntry>> wanted;
  {
    const Guard hold(lock_);
    for (const auto& [id, entry] : segments_.all()) {
      if (!entry->closed || segment_in_use(id)) wanted.push_back(entry);
    }
  }
  std::sort(wanted.begin(), wanted.end(), [](auto& a, auto& b) { return a->id < b->id; });
  for (const auto& entry : wanted) {
    SegmentReply reply;
    Status status = open_at_daemon(session, *entry, true, &reply);
    if (session.lost()) return status;
    restored->segments.push_back({entry->id, status.ok() ? reply.segment : 0, status.text()});
  }
  return {};
}

void ClientState::apply(const Restored& restored) {
  for (const auto& [id, entry] : regions_.all()) entry->session_id = 0;
  for (const auto& [id, entry] : segments_.all()) entry->handle = 0;
  for (const Restored::Row& row : restored.regions) {
    RegionEntry* entry = regions_.by_id(row.id);
    if (entry == nullptr) continue;
    entry->session_id = row.session_id;
    entry->refusal = row.refusal;
  }
  for (const Restored::Row& row : restored.segments) {
    SegmentEntry* entry = segments_.by_id(row.id);
    if (entry == nullptr) continue;
    entry->handle = row.session_id;
    entry->refusal = row.refusal;
  }
}

void ClientState::adopt(std::unique_ptr<Session> session, const Restored& restored) {
  const std::shared_ptr<Session> next = std::move(session);
  std::shared_ptr<Session> last;
  {
    const Guard hold(lock_);
    last = session_;
    take_session(next);
    unbind_all(*last);
    apply(restored);
    reattaches_.fetch_add(1, std::memory_order_relaxed);
    fill_backlog();
    publish_backlog();
  }
  last->wake_sleepers();
  completion_fd_.watch(*next, !has_thread());
  completion_fd_.raise();
  const Guard hold(lock_);
  graveyard_.push_back(last->retire());
}

void ClientState::give_up() {
  given_up_ = true;
  std::shared_ptr<Session> last;
  {
    const Guard hold(lock_);
    last = session_;
    unbind_all(*last);
    for_each_unfinished([](BatchState&, Owner& owner, std::uint32_t) {
      latch(owner, {.state = TaskState::failed, .reason = Reason::daemon_gone});
    });
    while (!outgoing_.unfinished().empty()) {
      auto& [serial, sent] = *outgoing_.unfinished().begin();
      finish_notification(serial, sent,
                          {.state = TaskState::failed, .reason = Reason::daemon_gone});
    }
    recycle_settled();
  }
  last->wake_sleepers();
  completion_fd_.raise();
}

}  // namespace tentq::lib
