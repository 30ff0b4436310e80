// Opening, checking and reading the status page. Whatever is in the file, this ends with an answer.
#include "client/ctl/status_page_reader.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstring>

namespace tentq::ctl {
namespace {

namespace ipc = boost::interprocess;

constexpr int kMostTries = 1000;

bool texts_terminated(const StatusPageBody& body) {
  bool good = body.version.terminated() && body.socket_path.terminated() &&
              body.admin_socket_path.terminated() && body.policy.terminated();
  for (std::size_t i = 0; i < body.lane_count; ++i) {
    good = good && body.lanes[i].name.terminated() && body.lanes[i].transport.terminated();
  }
  for (std::size_t i = 0; i < body.error_count; ++i) {
    const StatusPageError& error = body.errors[i];
    good = good && error.cause.terminated() && error.text.terminated() &&
           error.remedy.terminated() && error.level <= 3;
  }
  return good;
}

bool is_plausible(const StatusPageBody& body) {
  return body.class_count <= kMaxClasses && body.lane_count <= kStatusLanes &&
         body.error_count <= kStatusErrors && body.lanes_total >= body.lane_count &&
         body.errors_total >= body.error_count && texts_terminated(body);
}

// The later of the two copies that can be read; a copy that is being written is tried again.
bool read_body(const StatusPage& page, StatusPageBody* body) {
  const auto other = std::make_unique<StatusPageBody>();
  for (int i = 0; i < kMostTries; ++i) {
    const bool first = load_status(page.copies[0], body);
    const bool second = load_status(page.copies[1], other.get());
    if (second && (!first || other->updates > body->updates)) *body = *other;
    if (first || second) return true;
  }
  return false;
}

std::string wrong_size(const std::string& path) {
  return path + " is not a status page of this version; update tentqctl and tentqd together";
}

}  // namespace

bool read_status_page(const std::string& path, StatusPicture* picture, std::string* why) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    *why = "no status page at " + path + ": " + std::strerror(errno) +
           "; is tentqd running (`systemctl start tentqd`)? Another place: --socket or --page";
    return false;
  }
  if (!S_ISREG(facts.st_mode) || facts.st_size != sizeof(StatusPage)) {
    *why = wrong_size(path);
    return false;
  }
  try {
    const ipc::file_mapping file(path.c_str(), ipc::read_only);
    const ipc::mapped_region region(file, ipc::read_only, 0, sizeof(StatusPage));
    const auto* page = static_cast<const StatusPage*>(region.get_address());
    if (page->magic != kStatusPageMagic || page->layout_hash != kStatusPageHash ||
        page->bytes != sizeof(StatusPage)) {
      *why = wrong_size(path);
      return false;
    }
    picture->body = std::make_unique<StatusPageBody>();
    if (!read_body(*page, picture->body.get()) || !is_plausible(*picture->body)) {
      *why = path + " is damaged; restart tentqd to have it made anew";
      return false;
    }
    picture->heartbeat = time_from_ns(page->heartbeat_ns.load(std::memory_order_relaxed));
    picture->inode = facts.st_ino;
    return true;
  } catch (const ipc::interprocess_exception& exception) {
    *why = "cannot map " + path + ": " + std::strerror(exception.get_native_error());
    return false;
  }
}

Liveness judge_liveness(const StatusPicture& picture, Time now, bool process_exists) {
  if (picture.heartbeat > now + kSilentAfter) return Liveness::other_clock;
  if (now - picture.heartbeat <= kSilentAfter) return Liveness::alive;
  return process_exists ? Liveness::silent : Liveness::ended;
}

Time monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return time_from_ns(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

bool process_exists(std::uint32_t pid) {
  if (pid == 0 || pid > 0x7fff'ffffu) return false;
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

}  // namespace tentq::ctl
