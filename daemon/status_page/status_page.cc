// Making the file and filling the picture. The conductor's; ages are nanoseconds.
#include "daemon/status_page/status_page.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/file_mapping.hpp>
#include <cerrno>
#include <cstring>

namespace tentq {
namespace {

namespace ipc = boost::interprocess;

constexpr std::array<std::string_view, 4> kPolicyNames = {"direct", "fifo", "strict", "wdrr"};

std::string failed(const char* step, const std::string& path, int error) {
  return std::string(step) + ' ' + path + ": " + std::strerror(error);
}

// Age of a point in time that may be "never" or, by a reader's clock, in the future.
std::uint64_t age_ns(Time then, Time now) {
  if (then == kNever || then >= now) return 0;
  return static_cast<std::uint64_t>((now - then).count());
}

// A file of the page's size with every page allocated, so that a full /run is an error here and
// not a SIGBUS later.
bool make_file(const std::string& path, std::string* why) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    *why = failed("cannot create", path, errno);
    return false;
  }
  const int error = ::posix_fallocate(fd, 0, sizeof(StatusPage));
  ::close(fd);
  if (error == 0) return true;
  *why = failed("no room for", path, error);
  ::unlink(path.c_str());
  return false;
}

void fill_daemon(const DaemonView& view, StatusPageBody* body) {
  body->version.assign(view.version);
  body->epoch_counter = view.epoch_counter;
  body->epoch_random = view.epoch_random;
  body->pid = view.pid;
  body->state = static_cast<std::uint32_t>(view.state);
  body->sessions = view.sessions;
  body->regions = view.regions;
  body->registered_bytes = view.registered_bytes;
  body->shm_workers = view.shm_workers;
  body->reaped_clients = view.reaped_clients;
  body->refused_attaches = view.refused_attaches;
  body->missed_wakeups = view.missed_wakeups;
  body->turns = view.turns;
  body->sleeps = view.sleeps;
}

void fill_core(const core::Core& core, Time now, StatusPageBody* body) {
  body->policy.assign(kPolicyNames[static_cast<std::size_t>(core.policy())]);
  const core::Counters& counters = core.counters();
  body->enqueued = counters.enqueued;
  body->dispatched_chunks = counters.dispatched_chunks;
  body->completed = counters.completed;
  body->failed = counters.failed;
  body->timed_out = counters.timed_out;
  body->canceled = counters.canceled;
  body->transferred_bytes = counters.transferred_bytes;
  body->requeues = counters.requeues;
  body->stale_completions = counters.stale_completions;
  body->internal_reserve_exhausted = counters.internal_reserve_exhausted;
  std::copy(counters.rejected.begin(), counters.rejected.end(), body->rejected);
  body->class_count = kClassCount;
  for (std::size_t c = 0; c < kClassCount; ++c) {
    const core::ClassTotals totals = core.class_totals(static_cast<ClassId>(c));
    body->classes[c] = {totals.queued_owners,
                        totals.queued_bytes,
                        totals.in_flight_owners,
                        totals.in_flight_bytes,
                        totals.route_pending_owners,
                        totals.draining_owners,
                        age_ns(totals.oldest_enqueued, now)};
  }
}

void fill_lanes(const std::vector<LaneView>& lanes, StatusPageBody* body) {
  body->lanes_total = static_cast<std::uint32_t>(lanes.size());
  body->lane_count = static_cast<std::uint32_t>(std::min(lanes.size(), kStatusLanes));
  for (std::size_t i = 0; i < body->lane_count; ++i) {
    const core::LaneTotals& totals = lanes[i].totals;
    StatusPageLane& out = body->lanes[i];
    out.name.assign(lanes[i].name);
    out.transport.assign(lanes[i].transport);
    out.queued_owners = totals.queued_owners;
    out.queued_bytes = totals.queued_bytes;
    out.in_flight_bytes = totals.in_flight_bytes;
    out.window_bytes = totals.window_bytes;
    out.chunk_bytes = totals.chunk_bytes;
    out.in_flight_chunks = totals.in_flight_chunks;
    out.window_chunks = totals.window_chunks;
  }
}

// The latest ones, if they are too many.
void fill_errors(const std::vector<BookedError>& errors, StatusPageBody* body) {
  body->errors_total = static_cast<std::uint32_t>(errors.size());
  body->error_count = static_cast<std::uint32_t>(std::min(errors.size(), kStatusErrors));
  const std::size_t skipped = errors.size() - body->error_count;
  for (std::size_t i = 0; i < body->error_count; ++i) {
    const BookedError& error = errors[skipped + i];
    StatusPageError& out = body->errors[i];
    out.cause.assign(error.cause);
    out.text.assign(error.text);
    out.remedy.assign(error.remedy);
    out.count = error.count;
    out.first_ns = to_ns(error.first);
    out.last_ns = to_ns(error.last);
    out.level = static_cast<std::uint64_t>(error.level);
  }
}

}  // namespace

std::unique_ptr<StatusPageWriter> StatusPageWriter::create(const std::string& path,
                                                           const StatusPageIdentity& identity,
                                                           std::string* why) {
  const std::string beside = path + ".new";
  if (!make_file(beside, why)) return nullptr;
  std::unique_ptr<StatusPageWriter> writer;
  try {
    const ipc::file_mapping file(beside.c_str(), ipc::read_write);
    ipc::mapped_region region(file, ipc::read_write, 0, sizeof(StatusPage));
    writer.reset(new StatusPageWriter(std::move(region), identity));
  } catch (const ipc::interprocess_exception& exception) {
    *why = failed("cannot map", beside, exception.get_native_error());
    ::unlink(beside.c_str());
    return nullptr;
  }
  if (::chmod(beside.c_str(), 0444) != 0 || ::rename(beside.c_str(), path.c_str()) != 0) {
    *why = failed("cannot put in place", path, errno);
    ::unlink(beside.c_str());
    return nullptr;
  }
  return writer;
}

StatusPageWriter::StatusPageWriter(ipc::mapped_region region, const StatusPageIdentity& identity)
    : region_(std::move(region)), body_(std::make_unique<StatusPageBody>()) {
  std::memset(static_cast<void*>(body_.get()), 0, sizeof(*body_));
  body_->started_ns = to_ns(identity.started);
  body_->updated_ns = to_ns(identity.started);
  body_->socket_path.assign(identity.socket_path);
  body_->admin_socket_path.assign(identity.admin_socket_path);
  auto* made = new (page()) StatusPage;  // the file is all zeros: only the head is set
  made->magic = kStatusPageMagic;
  made->layout_hash = kStatusPageHash;
  made->bytes = sizeof(StatusPage);
  made->heartbeat_ns.store(to_ns(identity.started), std::memory_order_relaxed);
  store_status(&made->copies[0], *body_);
  next_copy_ = 1;
}

void StatusPageWriter::update(const Inspection& inspection, const ErrorBook& errors) {
  const Time now = inspection.now();
  body_->updated_ns = to_ns(now);
  ++body_->updates;
  fill_daemon(inspection.daemon(), body_.get());
  fill_core(inspection.core(), now, body_.get());
  fill_lanes(inspection.lanes(), body_.get());
  fill_errors(errors.errors(), body_.get());
  store_status(&page()->copies[next_copy_], *body_);
  next_copy_ ^= 1u;
  beat(now);
}

void StatusPageWriter::beat(Time now) {
  page()->heartbeat_ns.store(to_ns(now), std::memory_order_relaxed);
}

}  // namespace tentq
