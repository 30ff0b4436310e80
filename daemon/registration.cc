// Registration of payload memory. See registration.h.
#include "daemon/registration.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "daemon/config/quotas.h"

namespace tentq {

// One registration on its way. The background thread and the conductor never use it at one time.
struct Registration::Work {
  std::shared_ptr<ControlChannel> channel;
  SessionId session;
  ClientKey key;    // charged for it
  ClientId client;  // the id may belong to another session by the time the work is done
  RegisterRegion message;
  shm::Fd fd;
  Background* background = nullptr;
  shm::MemoryFacts facts;
  shm::Mapping mapping;
  StatusCode status = StatusCode::ok;
  std::string text;
  bool behind = false;  // answer first, populate afterwards
  bool resident = false;
  int lock_error = 0;
  std::byte* begin = nullptr;
  std::uint64_t size = 0;
};

Registration::Registration(const Settings& settings, Regions& regions, Segments& segments,
                           Sessions& sessions, Background& background, Host& host)
    : settings_(settings),
      regions_(regions),
      segments_(segments),
      sessions_(sessions),
      background_(background),
      host_(host) {}

StatusCode Registration::check(const Session& session, const RegisterRegion& m, const shm::Fd& fd,
                               std::string* why) const {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  if (!fd.valid()) {
    *why = "a registration carries the memory's file descriptor";
    return StatusCode::invalid_argument;
  }
  if (m.size == 0 || m.size > kLast - m.base || m.size > kLast - m.fd_offset) {
    *why = "the region's size is 0, or base or offset plus size exceed 2^64";
    return StatusCode::invalid_argument;
  }
  const bool known =
      m.host_access <= RegionAccess::read_write && m.remote_access <= RegionAccess::read_write &&
      m.host_scope <= RegionScope::everyone && (m.flags & ~(kRegionSparse | kRegionReadOnly)) == 0;
  if (!known) {
    *why = "unknown access, scope or flag";
    return StatusCode::invalid_argument;
  }
  if (session.regions.size() + session.registering >= settings_.sessions.regions) {
    *why = "the limit of " + std::to_string(settings_.sessions.regions) +
           " regions a client is reached; unregister some or raise sessions.regions";
    return StatusCode::exhausted;
  }
  if ((m.flags & kRegionSparse) != 0 && !settings_.memory.allow_sparse) {
    *why = "sparse memory is not allowed here; populate it first, or set memory.allow_sparse";
    return StatusCode::not_permitted;
  }
  const StatusCode room = regions_.room_for(m.size, why);
  return room == StatusCode::ok ? check_quota(session, m.size, why) : room;
}

StatusCode Registration::check_quota(const Session& session, std::uint64_t size,
                                     std::string* why) const {
  const FairnessKey& key = sessions_.key(session.key);
  if (!key.quota || !key.quota->pinned_bytes) return StatusCode::ok;
  const std::uint64_t most = *key.quota->pinned_bytes;
  if (size <= most && key.pinned_bytes <= most - size) return StatusCode::ok;
  const std::string quota = "quota '" + quota_name(*key.quota) + "' allows " + print_size(most) +
                            " of registered memory (pinned_bytes)";
  if (size > most) {
    *why = quota + ", and this is " + print_size(size) + "; register less, or have it raised";
    return StatusCode::too_large;
  }
  *why = quota + ", of which " + print_size(most - std::min(most, key.pinned_bytes)) +
         " are free, and this is " + print_size(size) + "; unregister some, or have it raised";
  return StatusCode::exhausted;
}

void Registration::register_region(ControlChannel& channel, const RegisterRegion& message,
                                   shm::Fd fd) {
  Session& session = *channel.session();
  auto work = std::make_shared<Work>();
  work->channel = channel.shared_from_this();
  work->session = session.id;
  work->client = session.client;
  work->message = message;
  work->background = &background_;
  work->behind = session.reattached;
  std::string why;
  const StatusCode code = check(session, message, fd, &why);
  if (code != StatusCode::ok) return reply(*work, code, RegionId{}, why);
  work->fd = std::move(fd);
  ++session.registering;
  work->key = session.key;
  sessions_.charge_pinned(work->key, message.size);
  const bool allow_sparse = settings_.memory.allow_sparse;
  background_.run_long(
      [work, allow_sparse] {
        map(*work, allow_sparse);
        if (work->status == StatusCode::ok && !work->behind) populate(*work);
      },
      [this, work] { finish(work); });
}

void Registration::map(Work& work, bool allow_sparse) {
  const auto refuse = [&](StatusCode status, std::string text) {
    work.status = status;
    work.text = std::move(text);
  };
  const RegisterRegion& m = work.message;
  if (const int error = shm::inspect_memory(work.fd.get(), &work.facts); error != 0) {
    return refuse(StatusCode::invalid_argument,
                  std::string("the file descriptor cannot be inspected: ") + std::strerror(error));
  }
  if (work.facts.kind == shm::MemoryKind::other) {
    return refuse(StatusCode::unsupported,
                  "only memfd, tmpfs and hugetlbfs memory can be registered; use allocate()");
  }
  if (m.fd_offset > work.facts.size || m.size > work.facts.size - m.fd_offset) {
    return refuse(StatusCode::invalid_argument,
                  "the file is shorter (" + std::to_string(work.facts.size) +
                      " bytes) than the region that is to be registered");
  }
  const bool sparse = allow_sparse && (m.flags & kRegionSparse) != 0;
  if (!sparse && shm::has_holes(work.fd.get(), m.fd_offset, m.size)) {
    return refuse(
        StatusCode::invalid_argument,
        "the memory has holes; populate it (posix_fallocate and touch) before registering");
  }
  int error = 0;
  const bool read_only = (m.flags & kRegionReadOnly) != 0;
  work.mapping = shm::Mapping::map(
      work.fd.get(), m.fd_offset, m.size,
      read_only ? shm::Mapping::Mode::read_only : shm::Mapping::Mode::read_write, &error);
  if (!work.mapping.valid()) {
    return refuse(error == EACCES ? StatusCode::not_permitted : StatusCode::exhausted,
                  std::string("the memory could not be mapped: ") + std::strerror(error) +
                      (error == ENOMEM ? "; see vm.max_map_count" : ""));
  }
  work.begin = work.mapping.data();
  work.size = work.mapping.size();
}

// Page tables first, then the lock: afterwards touching the memory neither faults nor waits.
void Registration::populate(Work& work) {
  if ((work.message.flags & kRegionSparse) != 0) return;
  const bool for_write = (work.message.flags & kRegionReadOnly) == 0;
  const auto progress = [](void* cookie, std::uint64_t done) {
    Work& self = *static_cast<Work*>(cookie);
    if (self.behind) return true;
    auto message = make_message<RegionProgress>(self.message.header.request);
    message.done_bytes = done;
    message.total_bytes = self.size;
    self.background->on_conductor([channel = self.channel, message] { channel->send(message); });
    return true;
  };
  const int error = shm::populate(work.begin, work.size, for_write, progress, &work);
  if (error != 0) {
    work.status = StatusCode::exhausted;
    work.text = std::string("the memory could not be populated: ") + std::strerror(error);
    return;
  }
  // Memory that its owner can still truncate is never touched inline.
  if (!work.facts.sealed_shrink) return;
  if (::mlock(work.begin, work.size) == 0) {
    work.resident = true;
  } else {
    work.lock_error = errno;
  }
}

Region Registration::make_region(const Session& session, Work& work) const {
  const RegisterRegion& m = work.message;
  Region region;
  region.mapping = std::move(work.mapping);
  region.base = m.base;
  region.size = m.size;
  region.owner = session.id;
  region.key = work.key;
  region.uid = session.credentials.uid;
  region.host_access = m.host_access;
  region.host_scope = m.host_scope;
  region.remote_access = m.remote_access;
  region.scope_id = m.scope_id;
  region.scope_name = std::string(m.scope_name.view());
  region.read_only = (m.flags & kRegionReadOnly) != 0;
  region.resident = work.resident;
  return region;
}

void Registration::finish(const std::shared_ptr<Work>& work) {
  Session* session = sessions_.find(work->session);
  if (session == nullptr || session->client != work->client || session->leaving) {
    return give_up(*work);
  }
  --session->registering;
  if (work->status != StatusCode::ok) {
    give_up(*work);
    return reply(*work, work->status, RegionId{}, work->text);
  }
  const RegisterRegion& m = work->message;
  if (session->exported && segments_.overlaps(*session->exported, m.base, m.size)) {
    give_up(*work);
    return reply(*work, StatusCode::invalid_argument, RegionId{},
                 "the range overlaps a region that is registered already; unregister that first");
  }
  std::string why;
  RegionIndex index;
  Region region = make_region(*session, *work);
  region.id = RegionId{session->next_region};
  const StatusCode added = regions_.add(std::move(region), &index, &why);
  if (added != StatusCode::ok) {
    give_up(*work);
    return reply(*work, added, RegionId{}, why);
  }
  ++session->next_region;
  const RegionId id = regions_.at(index).id;
  session->regions.emplace(id.value(), index);
  session->registered_bytes += m.size;
  if (session->exported) segments_.add_region(*session->exported, index);
  if (work->lock_error != 0) host_.not_locked(work->size, work->lock_error);
  reply(*work, StatusCode::ok, id, "");
  host_.region_added(*session);
  if (work->behind) populate_behind(work, index);
}

// The memory does not become a region.
void Registration::give_up(Work& work) {
  if (work.mapping.valid()) background_.dispose(std::move(work.mapping));
  sessions_.release_pinned(work.key, work.message.size);
}

// Pinned meanwhile, so that the mapping stays.
void Registration::populate_behind(const std::shared_ptr<Work>& work, RegionIndex index) {
  regions_.pin(index);
  background_.run_long([work] { populate(*work); },
                       [this, work, index] {
                         regions_.at(index).resident = work->resident;
                         if (work->lock_error != 0) host_.not_locked(work->size, work->lock_error);
                         regions_.unpin(index);
                       });
}

void Registration::reply(Work& work, StatusCode status, RegionId region, const std::string& text) {
  auto message = make_message<RegionReply>(work.message.header.request);
  message.status = status;
  message.region = region.valid() ? region.value() : 0;
  message.text.assign(text);
  work.channel->send(message);
}

void Registration::unregister_region(ControlChannel& channel, const UnregisterRegion& message) {
  host_.take_requests();
  if (channel.session() == nullptr) return;  // its own ring was damaged
  Session& session = *channel.session();
  auto answer = make_message<Done>(message.header.request);
  const auto it = session.regions.find(message.region);
  if (it == session.regions.end()) {
    answer.status = StatusCode::not_found;
    answer.text.assign("no such region in this session");
    channel.send(answer);
    return;
  }
  const RegionIndex index = it->second;
  Region& region = regions_.at(index);
  if (region.pins > 0 && message.wait == 0) {
    answer.status = StatusCode::busy;
    answer.text.assign(
        "transfers of the region are under way; wait for them, or unregister and wait");
    channel.send(answer);
    return;
  }
  session.registered_bytes -= region.size;
  session.regions.erase(it);
  if (session.exported) segments_.remove_region(*session.exported, index);
  region.unregister_request = message.header.request;
  regions_.unregister(index);
}

void Registration::released(const Region& region) {
  sessions_.release_pinned(region.key, region.size);
  if (region.unregister_request == 0) return;
  Session* session = sessions_.find(region.owner);
  if (session == nullptr || session->leaving || session->channel == nullptr) return;
  session->channel->send(make_message<Done>(region.unregister_request));
}

void Registration::forget(Session& session) {
  for (const auto& [id, index] : session.regions) {
    if (session.exported) segments_.remove_region(*session.exported, index);
    regions_.unregister(index);
  }
  session.regions.clear();
  session.registered_bytes = 0;
}

}  // namespace tentq
