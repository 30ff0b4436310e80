// Attaching of clients. See attach.h.
#include "daemon/attach.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "daemon/config/quotas.h"
#include "proto/check.h"
#include "proto/version.h"

namespace tentq {

// What the background makes for a client that said HELLO.
struct Attach::Pending {
  std::shared_ptr<ControlChannel> channel;
  Hello hello;
  Credentials credentials;
  std::uint32_t asked_classes = 0;
  std::uint32_t downgraded = 0;
  std::string quota;        // its name; empty: none
  ClassId highest_class{};  // that it allows
  SessionSizes sizes;
  std::string cgroup;
  shm::OwnedSessionMemory memory;
  shm::Fd doorbell, doorbell_copy;
  shm::Fd completion, client_completion;  // the two ends
  int error = 0;
};

namespace {

// Of what a client wrote: at most the largest number.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

}  // namespace

Credentials credentials_of(const shm::PeerCredentials& peer) {
  Credentials credentials{static_cast<std::uint32_t>(peer.pid), peer.uid, peer.gid, peer.groups};
  if (std::find(peer.groups.begin(), peer.groups.end(), peer.gid) == peer.groups.end()) {
    credentials.groups.push_back(peer.gid);
  }
  return credentials;
}

Attach::Attach(const Settings& settings, const Epoch& epoch, Sessions& sessions, Segments& segments,
               core::Core& core, Background& background, Host& host)
    : settings_(settings),
      epoch_(epoch),
      sessions_(sessions),
      segments_(segments),
      core_(core),
      background_(background),
      host_(host) {}

StatusCode Attach::check_version(const Hello& hello, std::string* why) const {
  if (hello.magic != kHelloMagic) {
    *why = "this socket speaks the tentq client protocol; the other end does not";
    return StatusCode::incompatible;
  }
  const auto text = [](unsigned major, unsigned minor) {
    return std::to_string(major) + "." + std::to_string(minor);
  };
  if (hello.major != kProtocolMajor) {
    *why = "the client speaks protocol " + text(hello.major, hello.minor) + ", tentqd " +
           kProductVersion + " speaks " + text(kProtocolMajor, kProtocolMinor) +
           "; install both of the same major version";
    return StatusCode::incompatible;
  }
  if (hello.layout_hash != kLayoutHash) {
    *why = "client and daemon (protocol " + text(kProtocolMajor, kProtocolMinor) +
           ") were built with different shared-memory layouts; install both from one release";
    return StatusCode::incompatible;
  }
  return StatusCode::ok;
}

bool Attach::allowed(const Credentials& credentials) const {
  const auto& uids = settings_.sessions.allowed_uids;
  const auto& gids = settings_.sessions.allowed_gids;
  if (uids.empty() && gids.empty()) return true;
  if (std::find(uids.begin(), uids.end(), credentials.uid) != uids.end()) return true;
  return std::any_of(credentials.groups.begin(), credentials.groups.end(), [&](gid_t group) {
    return std::find(gids.begin(), gids.end(), group) != gids.end();
  });
}

StatusCode Attach::check(const ControlChannel& channel, const Hello& hello,
                         std::string* why) const {
  const StatusCode version = check_version(hello, why);
  if (version != StatusCode::ok) return version;
  if (!host_.accepting()) {
    *why = "the daemon drains and takes no new clients";
    return StatusCode::draining;
  }
  if (!allowed(credentials_of(channel.credentials()))) {
    *why = "uid " + std::to_string(channel.credentials().uid) +
           " is neither in sessions.allowed_uids nor in one of sessions.allowed_gids";
    return StatusCode::not_permitted;
  }
  const std::string_view name = hello.name.view();
  if (!name.empty() && !is_valid_name(name)) {
    *why =
        "a client name is 1 to 63 of letters, digits, '.', '_', '-', not beginning with '.' or '-'";
    return StatusCode::invalid_argument;
  }
  if (hello.incarnation == 0) {
    *why = "the incarnation must not be 0";
    return StatusCode::invalid_argument;
  }
  if (hello.class_mask != 0 && (hello.class_mask & kClientClassMask) == 0) {
    *why = "none of the classes asked for can be granted to a client";
    return StatusCode::invalid_argument;
  }
  if (sessions_.full()) {
    *why = "all " + std::to_string(settings_.sessions.most) +
           " sessions are taken; end some or raise sessions.most";
    return StatusCode::exhausted;
  }
  return StatusCode::ok;
}

// Empty classes: the quota has none that it asked for.
void Attach::grant_classes(Pending& pending) const {
  const Quota* quota = quota_of(settings_.quotas, pending.hello.name.view(),
                                pending.credentials.uid, pending.credentials.groups);
  const std::uint32_t asked = pending.hello.class_mask;
  pending.asked_classes = asked == 0 ? kClientClassMask : asked & kClientClassMask;
  pending.sizes.class_mask = granted_classes(quota, pending.asked_classes, &pending.downgraded);
  pending.quota = quota == nullptr ? std::string() : quota_name(*quota);
  pending.highest_class = quota == nullptr ? ClassId{} : quota->highest_class;
}

void Attach::refuse(ControlChannel& channel, StatusCode code, const std::string& text) {
  host_.attach_refused(channel, code, text);
  auto message = make_message<Refused>();
  message.status = code;
  message.text.assign(text);
  channel.send(message);
  channel.close_after_sending(std::chrono::seconds{1});
}

void Attach::hello(ControlChannel& channel, const Hello& hello, shm::Fd pidfd) {
  if (channel.greeted() || channel.admin()) {
    return refuse(channel, StatusCode::invalid_argument,
                  channel.admin() ? "attach at the client socket, not at the admin socket"
                                  : "HELLO came twice");
  }
  channel.set_greeted();
  std::string why;
  const StatusCode code = check(channel, hello, &why);
  if (code != StatusCode::ok) return refuse(channel, code, why);
  if (pidfd.valid()) channel.watch_process(std::move(pidfd));

  auto pending = std::make_shared<Pending>();
  pending->channel = channel.shared_from_this();
  pending->hello = hello;
  pending->credentials = credentials_of(channel.credentials());
  grant_classes(*pending);
  if (pending->sizes.class_mask == 0) {
    return refuse(channel, StatusCode::not_permitted,
                  "quota '" + pending->quota + "' allows at most class '" +
                      std::string(kClassNames[index_of(pending->highest_class)]) +
                      "', and only more urgent ones are asked for; ask for that class, or have the "
                      "quota's highest_class raised");
  }
  pending->sizes.ring_cells = settings_.sessions.ring_cells;
  pending->sizes.slots = settings_.sessions.slots;
  pending->sizes.arena_bytes = settings_.sessions.arena_bytes;
  background_.run_short(
      [pending] {
        pending->error = shm::create_session_memory(pending->sizes, &pending->memory);
        pending->cgroup = cgroup_of(pending->credentials.pid);
        if (pending->error == 0) pending->error = shm::create_doorbell(&pending->doorbell);
        if (pending->error == 0) {
          pending->error =
              shm::create_completion_pair(&pending->completion, &pending->client_completion);
        }
        pending->doorbell_copy.reset(::fcntl(pending->doorbell.get(), F_DUPFD_CLOEXEC, 0));
        if (pending->error == 0 && !pending->doorbell_copy.valid()) pending->error = errno;
      },
      [this, pending] { finish(pending); });
}

void Attach::finish(const std::shared_ptr<Pending>& pending) {
  ControlChannel& channel = *pending->channel;
  if (channel.closed()) return;
  if (pending->error != 0) {
    return refuse(channel, StatusCode::exhausted,
                  std::string("the session's memory could not be made: ") +
                      std::strerror(pending->error) +
                      "; free memory or file descriptors, or lower sessions.slots");
  }
  std::string why;
  const StatusCode code = check(channel, pending->hello, &why);
  if (code != StatusCode::ok) return refuse(channel, code, why);
  Session& session = sessions_.create();
  session.credentials = pending->credentials;
  session.name = std::string(pending->hello.name.view());
  session.incarnation = pending->hello.incarnation;
  session.cgroup = std::move(pending->cgroup);
  if (!sessions_.join_key(session, settings_.quotas)) {
    sessions_.remove(session);
    return refuse(channel, StatusCode::exhausted,
                  "all " + std::to_string(settings_.maxima.clients) +
                      " fairness keys (users and control groups) are taken; end clients of some, "
                      "or raise maxima.clients");
  }
  const StatusCode claimed = claim_name(session, pending->hello, &why);
  if (claimed != StatusCode::ok) {
    sessions_.remove(session);
    return refuse(channel, claimed, why);
  }
  set_up(session, *pending);
  session.channel = &channel;
  channel.set_session(&session);
  host_.attached(session, pending->hello, std::move(pending->doorbell_copy));
  welcome(channel, session, pending->client_completion.get());
}

StatusCode Attach::claim_name(Session& session, const Hello& hello, std::string* why) {
  if (session.name.empty()) return StatusCode::ok;
  sessions_.for_each([&](Session& other) {
    const bool holds = other.name == session.name && other.id != session.id && !other.leaving;
    const bool knows_it = hello.token != Token{} && hello.token == other.token;
    if (holds && knows_it && other.credentials.uid == session.credentials.uid) host_.replace(other);
  });
  return segments_.claim(session.name, session.credentials.uid, session.incarnation, session.id,
                         hello.reattach != 0, host_.now(), settings_.limits.route_budget,
                         &session.exported, why);
}

void Attach::set_up(Session& session, Pending& pending) {
  session.class_mask = pending.sizes.class_mask;
  session.asked_classes = pending.asked_classes;
  session.downgraded = pending.downgraded;
  session.attached = host_.now();
  session.last_active = session.attached;
  session.reattached = pending.hello.reattach != 0;
  TENTQ_CHECK(::getrandom(session.token.data(), session.token.size(), 0) ==
              static_cast<ssize_t>(session.token.size()));
  session.memory = std::move(pending.memory);
  session.doorbell_fd = std::move(pending.doorbell);
  session.completion_fd = std::move(pending.completion);
  session.slots.resize(pending.sizes.slots);

  const shm::SessionView& view = session.memory.view;
  ReqHeader* req = view.req();
  StaHeader* sta = view.sta();
  sta->magic = kStaMagic;
  sta->layout_hash = kLayoutHash;
  sta->epoch_counter = epoch_.counter;
  sta->epoch_random = epoch_.random;
  sta->state.store(static_cast<std::uint32_t>(DaemonState::running), std::memory_order_release);
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    if (((session.class_mask >> c) & 1u) == 0) continue;
    const auto cls = static_cast<ClassId>(c);
    SessionRing& ring = session.rings.emplace_back();
    ring.cls = cls;
    ring.consumer = shm::RingConsumer(view.ring(cls), pending.sizes.ring_cells,
                                      &req->tails[c].value, &sta->heads[c].value);
    ring.credit = shm::CreditGrantor(&req->consumed[c], &sta->granted[c], &req->wanted[c]);
  }
  session.doorbell = shm::DoorbellSleeper(&req->published.value, &sta->need_wakeup.value);
  session.notifier =
      shm::CompletionNotifier(&sta->completions.value, &req->waiters.value,
                              &req->completion_fd_armed.value, session.completion_fd.get());
  session.status = shm::StatusWriter(view.slots(), view.dirty(), pending.sizes.slots);

  open_in_core(session, pending.hello);
}

void Attach::open_in_core(const Session& session, const Hello& hello) {
  const core::ClientChanged terms = sessions_.terms_of(session.key);
  core::SessionOpened opened;
  opened.session = session.id;
  opened.client = session.key;
  opened.weight = terms.weight;
  opened.in_flight_bytes = terms.in_flight_bytes;
  opened.outstanding = terms.outstanding;
  opened.class_mask = session.class_mask;
  opened.slots = static_cast<std::uint32_t>(session.slots.size());
  // Beside its slots a session has no limit of its own: its client has.
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  opened.limit = {kAny, kAny, kAny};
  for (std::size_t c = 0; session.reattached && c < kMaxClasses; ++c) {
    const Outstanding& was = hello.outstanding[c];
    // What an earlier daemon had in a class that goes to another one now comes back there.
    const bool moved = ((session.downgraded >> c) & 1u) != 0;
    const std::size_t to = moved ? index_of(session.rings.front().cls) : c;
    opened.replayed[to].owners = sum_of(opened.replayed[to].owners, was.owners);
    opened.replayed[to].bytes = sum_of(opened.replayed[to].bytes, was.bytes);
    opened.replayed[to].extents = sum_of(opened.replayed[to].extents, was.extents);
  }
  core_.handle(opened, host_.now());
}

void Attach::welcome(ControlChannel& channel, const Session& session, int completion_fd) {
  auto message = make_message<Welcome>();
  message.client = session.client.value();
  message.epoch_counter = epoch_.counter;
  message.epoch_random = epoch_.random;
  message.major = kProtocolMajor;
  message.minor = kProtocolMinor;
  message.max_class = static_cast<std::uint32_t>(index_of(session.rings.front().cls));
  message.token = session.token;
  message.sizes = session.memory.view.layout().sizes();
  message.limits.largest_call = settings_.limits.largest_call_owners;
  message.limits.regions = settings_.sessions.regions;
  message.limits.largest_owner = settings_.limits.largest_owner_bytes;
  const FairnessKey& key = sessions_.key(session.key);
  const core::Amounts& most = settings_.limits.client;
  message.limits.owners = key.quota ? key.quota->owners.value_or(most.owners) : most.owners;
  message.limits.bytes = key.quota ? key.quota->bytes.value_or(most.bytes) : most.bytes;
  message.limits.extents = most.extents;
  if (key.quota) {
    message.highest_class = static_cast<std::uint32_t>(index_of(key.quota->highest_class));
    message.quota.assign(quota_name(*key.quota));
  }
  message.downgraded = session.downgraded;
  message.version.assign(kProductVersion);
  const int fds[kWelcomeFds] = {session.memory.req_fd.get(), session.memory.sta_fd.get(),
                                session.doorbell_fd.get(), completion_fd};
  channel.send(message, fds);
}

void Attach::mapped(ControlChannel& channel) {
  if (channel.session() == nullptr) return;
  // Refused only while a writable mapping is being made by somebody else; the client's own exists.
  (void)shm::seal_requests(channel.session()->memory);
  channel.established();
}

}  // namespace tentq
