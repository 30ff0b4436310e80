// Making and joining the parts, and the steps of a turn. See daemon.h; stopping and changes at run
// time are in daemon_control.cc.
#include "daemon/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "daemon/lanes.h"
#include "daemon/logging/log.h"
#include "daemon/metrics/exposition.h"
#include "daemon/systemd.h"
#include "proto/check.h"

namespace tentq {

namespace {

// Connections that may be open beside the attached sessions: queries, handshakes.
constexpr std::size_t kMoreChannels = 64;

// How late a deadline may be noticed while there is other work.
constexpr Duration kTickEvery = std::chrono::microseconds{50};

ShmOptions shm_options(const ShmSettings& settings) {
  ShmOptions options;
  options.workers = settings.workers;
  options.inline_bytes = settings.inline_bytes;
  options.inline_turn_bytes = settings.inline_turn_bytes;
  return options;
}

// Every other host has a session, a fairness key and lanes of its own.
core::HardMaxima core_maxima(const Settings& settings) {
  core::HardMaxima maxima = settings.maxima;
  maxima.sessions += settings.peers.most;
  maxima.clients += settings.peers.most;
  maxima.lanes = std::max(maxima.lanes, static_cast<std::uint32_t>(kLaneCount) +
                                            settings.peers.most * HostTable::kLanesOfHost);
  return maxima;
}

// Null if the lanes are as fast as the memory.
std::unique_ptr<PacedTransport> paced_lanes(const ShmSettings& settings, Transport* shm,
                                            PaceClock* clock) {
  if (settings.paced_bytes_per_second == 0) return nullptr;
  return std::make_unique<PacedTransport>(shm, clock,
                                          PacedOptions{settings.paced_bytes_per_second});
}

}  // namespace

Daemon::Daemon(Settings settings, std::string config_path, const Epoch& epoch,
               std::optional<PeerTerms> terms)
    : settings_(std::move(settings)),
      config_path_(std::move(config_path)),
      epoch_(epoch),
      now_(monotonic_now()),
      io_(1),
      signals_(io_, SIGTERM, SIGINT, SIGHUP),
      errors_([](LogLevel level, std::string_view line) { log_text(level, line); }),
      core_(settings_.limits, core_maxima(settings_), settings_.policy, epoch.random),
      background_(io_),
      regions_(
          settings_.sessions.host_regions, settings_.memory.most_bytes,
          [this](shm::Mapping mapping) { background_.dispose(std::move(mapping)); },
          [this](const Region& region) { registration_.released(region); }),
      segments_(regions_, settings_.sessions.name_hold),
      sessions_(settings_.sessions.most, settings_.maxima.clients),
      shm_(shm_options(settings_.shm)),
      paced_(paced_lanes(settings_.shm, &shm_, &pace_clock_)),
      executor_(core_, regions_, paced_ ? static_cast<Transport&>(*paced_) : shm_),
      notifications_(*this, settings_.sessions.mailbox, settings_.limits.route_budget),
      inbox_(settings_, core_, regions_, segments_, notifications_, *this),
      outbox_(settings_.sessions.most),
      registration_(settings_, regions_, segments_, sessions_, background_, *this),
      segment_requests_(settings_, regions_, segments_),
      departures_(core_, sessions_, segments_, inbox_, outbox_, notifications_, registration_,
                  segment_requests_, background_),
      effects_(core_, sessions_, regions_, inbox_, outbox_, executor_, notifications_, departures_,
               errors_, latencies_),
      conductor_(io_, *this, settings_.loop),
      inspector_({core_, sessions_, segments_, regions_, inbox_, departures_, conductor_, epoch_,
                  state_, warnings_, latencies_, metrics_, hosts_, directory_, shm_.workers(),
                  settings_.shm.paced_bytes_per_second}),
      attach_(settings_, epoch_, sessions_, segments_, core_, background_, *this),
      admin_(settings_, inspector_, errors_, *this),
      reception_(attach_, registration_, segment_requests_, admin_, *this,
                 settings_.sessions.most + kMoreChannels, settings_.sessions.handshake) {
  for (const LaneId lane : {kShmReadLane, kShmWriteLane}) {
    core_.handle(core::LaneOpened{lane, settings_.shm.window_bytes, settings_.shm.window_chunks,
                                  settings_.shm.chunk_bytes, settings_.shm.window},
                 now_);
  }
  if (terms) reach_hosts(std::move(*terms));
}

void Daemon::reach_hosts(PeerTerms terms) {
  host_ = terms.self.host;
  hosts_ = std::make_unique<Hosts>(
      Hosts::Parts{io_, core_, regions_, segments_, notifications_, errors_}, settings_,
      std::move(terms), [this] { effects_.retry_routes(monotonic_now()); });
  executor_.add(hosts_->transport(), *hosts_);
  inbox_.reach(*hosts_);
  effects_.reach(*hosts_);
  notifications_.reach(*hosts_);
  segment_requests_.reach(*hosts_);
  if (const std::string warning = warning_of(settings_.peers); !warning.empty()) {
    warnings_.push_back(warning);
  }
}

// Once it is known where this host listens.
void Daemon::open_directory() {
  if (settings_.directory.kind == DirectoryKind::none || hosts_ == nullptr) return;
  directory::Holder self;
  self.host = host_text(host_);
  self.epoch_counter = epoch_.counter;
  self.epoch_random = epoch_.random;
  if (const auto listens = parse_peer_address(hosts_->listens_at())) {
    const auto named = parse_peer_address(settings_.peers.advertise, listens->port);
    self.address = named.value_or(*listens).text();
  } else {
    warnings_.push_back(
        "the directory is only read: no other host can connect here; set `peers.listen` to have "
        "the segments of this host published");
  }
  directory_ = std::make_unique<EtcdDirectory>(io_, settings_.directory, std::move(self), errors_);
  exported_names_ = std::make_unique<ExportedNames>(regions_, segments_, directory_->names());
  segment_requests_.look_up_in(directory_->names());
  directory_->names().begin(monotonic_now());
}

Daemon::~Daemon() = default;

shm::Fd Daemon::open_socket(bool admin, int* error) {
  if (!admin) {
    return shm::listen_at(settings_.socket.path, settings_.socket.mode, settings_.socket.gid,
                          error);
  }
  const SocketSettings& socket = settings_.admin_socket;
  const std::int64_t gid = socket.gid >= 0 ? socket.gid : group_id_of(settings_.admin_group);
  shm::Fd fd = shm::listen_at(socket.path, socket.mode, gid, error);
  // Only root and the group's members may give a file to it.
  if (fd.valid() || *error != EPERM || socket.gid >= 0) return fd;
  warnings_.push_back(
      "the admin socket is root's and the daemon's alone: the daemon may not give it to group " +
      settings_.admin_group);
  return shm::listen_at(socket.path, socket.mode, -1, error);
}

// Transfers go on without metrics: somebody else's port is no reason to stop them.
void Daemon::listen_for_scrapes() {
  const auto endpoint = parse_endpoint(settings_.metrics.listen);
  if (!endpoint) return;
  int error = 0;
  shm::Fd fd = ScrapeListener::open(*endpoint, &error);
  if (!fd.valid()) {
    warnings_.push_back("metrics are not served, " + settings_.metrics.listen +
                        " cannot be listened at: " + std::strerror(error) +
                        "; set `metrics_listen` to an address and port of this host that is free, "
                        "or to \"\" to do without, and restart");
    return;
  }
  metrics_ = endpoint_of(fd.get()).value_or(*endpoint).text();
  scrapes_ = std::make_unique<ScrapeListener>(
      io_, std::move(fd), [this] { return exposition(inspector_); },
      [this](int accept_error) {
        errors_.report(LogLevel::error, "metrics.accept",
                       std::string("scrapes cannot be taken: ") + std::strerror(accept_error),
                       "raise LimitNOFILE of the unit, or end clients that hold many descriptors",
                       monotonic_now());
      });
}

bool Daemon::listen(std::string* why) {
  const StatusPageIdentity identity{settings_.socket.path, settings_.admin_socket.path, now_};
  std::string page_error;
  page_ = StatusPageWriter::create(settings_.status_path, identity, &page_error);
  if (!page_) warnings_.push_back(page_error);
  std::vector<systemd::PassedSocket> passed = systemd::take_sockets();
  const auto add = [&](shm::Fd fd, bool admin) {
    listeners_.push_back(std::make_unique<Listener>(
        io_, std::move(fd), admin, reception_,
        [this](std::shared_ptr<ControlChannel> channel) {
          reception_.accepted(std::move(channel));
        },
        [this](int error) {
          errors_.report(LogLevel::error, "listen.accept",
                         std::string("connections cannot be taken: ") + std::strerror(error),
                         "raise LimitNOFILE of the unit, or end clients that hold many descriptors",
                         monotonic_now());
        }));
  };
  bool have_client = false;
  bool have_admin = false;
  for (systemd::PassedSocket& socket : passed) {
    const bool admin = socket.name == "admin";
    (admin ? have_admin : have_client) = true;
    add(std::move(socket.fd), admin);
  }
  for (const bool admin : {false, true}) {
    if (admin ? have_admin : have_client) continue;
    int error = 0;
    shm::Fd fd = open_socket(admin, &error);
    if (!fd.valid()) {
      *why = "the socket " + (admin ? settings_.admin_socket : settings_.socket).path +
             " cannot be made: " + std::strerror(error) +
             "; its directory must exist and be writable (deploy/tmpfiles.d)";
      return false;
    }
    add(std::move(fd), admin);
  }
  if (hosts_ && !hosts_->listen(why)) return false;
  open_directory();
  listen_for_scrapes();
  return true;
}

void Daemon::run() {
  for (auto& listener : listeners_) listener->start();
  if (scrapes_) scrapes_->start();
  wait_for_signal();
  completions_.reserve(executor_.transports());
  for (std::size_t i = 0; i < executor_.transports(); ++i) {
    completions_.emplace_back(io_, ::fcntl(executor_.wakeup_fd(i), F_DUPFD_CLOEXEC, 0));
    wait_for_completions(i);
  }
  set_state(DaemonState::running, "");
  periodic(monotonic_now());
  systemd::notify_ready("serving " + settings_.socket.path);
  log(LogLevel::info, "tentqd {} serves {} (epoch {}, {} copying threads)", kProductVersion,
      settings_.socket.path, epoch_.counter, shm_.workers());
  if (hosts_ && !hosts_->listens_at().empty()) {
    log(LogLevel::info, "other hosts: {}", hosts_->listens_at());
  }
  if (scrapes_) log(LogLevel::info, "metrics: http://{}/metrics", metrics_);
  for (const std::string& warning : warnings_) log(LogLevel::warning, "{}", warning);
  conductor_.run();
  if (page_) page_->update(inspector_, errors_);
  log(LogLevel::info, "stopped; {} owners completed, {} failed", core_.counters().completed,
      core_.counters().failed);
}

bool Daemon::work(Time now) {
  now_ = now;
  bool any = hosts_ != nullptr && hosts_->work(now);
  if (inbox_.drain(now)) any = true;
  if (executor_.reap(now)) any = true;
  if (now >= next_tick_) {
    next_tick_ = now + kTickEvery;
    if (const auto deadline = core_.next_deadline(); deadline && *deadline <= now) {
      core_.handle(core::Tick{}, now);
      any = true;
    }
  }
  if (effects_.carry_out(now)) any = true;
  outbox_.publish();
  return any;
}

bool Daemon::glance() const {
  return executor_.in_flight() > 0 || inbox_.glance();
}

bool Daemon::prepare_sleep(Time now) {
  outbox_.show_all_credit();
  outbox_.publish();
  next_tick_ = Time{};
  return inbox_.park_idle(now, true) && executor_.arm_wakeup();
}

void Daemon::wish_taken(Session& session) {
  outbox_.show_credit(session);
}

void Daemon::park_idle(Time now) {
  inbox_.park_idle(now, false);
}

Time Daemon::next_deadline() {
  Time at = core_.next_deadline().value_or(kNever);
  if (const auto errors = errors_.next_deadline()) at = std::min(at, *errors);
  return at;
}

void Daemon::periodic(Time now) {
  now_ = now;
  inbox_.safety_poll(now);
  outbox_.show_all_credit();
  if (hosts_) hosts_->periodic(now);
  effects_.retry_routes(now);
  notifications_.retry_expected(now);
  if (const auto due = errors_.next_deadline(); due && *due <= now) errors_.tick(now);
  if (page_) page_->update(inspector_, errors_);
  const auto interval = systemd::watchdog_interval();
  if (interval.count() > 0 && now - last_beat_ >= interval) {
    last_beat_ = now;
    systemd::notify_alive();
  }
  if (stopping_) continue_stop(now);
}

void Daemon::wait_for_completions(std::size_t transport) {
  completions_[transport].async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                     [this, transport](boost::system::error_code error) {
                                       if (error) return;
                                       executor_.clear_wakeup(transport);
                                       wait_for_completions(transport);
                                     });
}

void Daemon::wait_for_doorbell(Session& session) {
  session.doorbell_wait->async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, id = session.id, client = session.client](boost::system::error_code error) {
        Session* rung = sessions_.find(id);
        if (error || rung == nullptr || rung->client != client || rung->leaving) return;
        shm::drain_doorbell(rung->doorbell_fd.get());
        rung->silent_since = Time{};
        inbox_.wake(*rung, monotonic_now());
        wait_for_doorbell(*rung);
      });
}

void Daemon::attached(Session& session, const Hello& hello, shm::Fd doorbell) {
  inbox_.add(session);
  session.doorbell_wait = std::make_unique<boost::asio::posix::stream_descriptor>(io_);
  boost::system::error_code error;
  session.doorbell_wait->assign(doorbell.get(), error);
  if (error) {
    errors_.report(
        LogLevel::error, "session.doorbell", "a doorbell cannot be watched: " + error.message(),
        "raise fs.epoll.max_user_watches; until then its work is found by polling", now_);
  } else {
    doorbell.release();
    wait_for_doorbell(session);
  }
  // The first grants must be in STA before WELCOME is read.
  effects_.carry_out(now_);
  log(LogLevel::info, "client {} '{}' (pid {}, uid {}) {}", session.client.value(), session.name,
      hello.pid, session.credentials.uid, session.reattached ? "re-attached" : "attached");
}

void Daemon::replace(Session& session) {
  reception_.dismiss(session, DaemonState::quarantined,
                     "replaced by a newer process of the same name");
  departures_.begin(session, now_);
}

void Daemon::attach_refused(const ControlChannel& channel, StatusCode code,
                            const std::string& text) {
  inspector_.count_refused_attach();
  errors_.report(LogLevel::warning, "attach." + std::string(to_string(code)),
                 "a client (pid " + std::to_string(channel.credentials().pid) + ", uid " +
                     std::to_string(channel.credentials().uid) + ") was refused: " + text,
                 remedy(code), monotonic_now());
}

void Daemon::region_added(Session&) {
  effects_.retry_routes(now_);
}

void Daemon::not_locked(std::uint64_t bytes, int error) {
  const std::string text = std::to_string(bytes) +
                           " bytes could not be locked: " + std::strerror(error) +
                           "; small copies of them go to a copying thread";
  errors_.report(LogLevel::warning, "memory.not_locked", text,
                 "raise LimitMEMLOCK of the unit (`tentqctl doctor` shows the limit)", now_);
  constexpr const char* kWarning =
      "memlock is too small for registered memory: small copies are slower than they could be";
  if (std::find(warnings_.begin(), warnings_.end(), kWarning) == warnings_.end()) {
    warnings_.emplace_back(kWarning);
  }
}

void Daemon::violation(Session& session, Violation what) {
  ++session.violations[static_cast<std::size_t>(what)];
  inspector_.count_violation(what);
  session.last_error = std::string(to_string(what));
  errors_.report(LogLevel::warning, "violation." + session.last_error,
                 "client " + std::to_string(session.client.value()) + " '" + session.name +
                     "' (pid " + std::to_string(session.credentials.pid) +
                     ") made a request that cannot be served: " + session.last_error,
                 "see `tentqctl clients`; the client's own status tells it the reason", now_);
}

void Daemon::quarantine(Session& session, Violation what) {
  violation(session, what);
  session.quarantined = true;
  session.memory.view.sta()->state.store(static_cast<std::uint32_t>(DaemonState::quarantined),
                                         std::memory_order_release);
  reception_.dismiss(session, DaemonState::quarantined,
                     "the request ring was damaged: " + session.last_error);
  departures_.begin(session, now_);
}

void Daemon::notification_ended(Session& sender, std::uint32_t slot, std::uint32_t generation,
                                TaskState state, Reason reason) {
  shm::SlotView view;
  view.word = {generation, state, reason};
  view.enqueued_ns = to_ns(sender.slots[slot].enqueued);
  view.completed_ns = to_ns(now_);
  outbox_.ended(sender, slot, generation, view);
}

Notifications::Delivery Daemon::deliver(Session& receiver, const Notification& message) {
  if (receiver.channel == nullptr || receiver.channel->closed()) {
    return Notifications::Delivery::gone;
  }
  if (!receiver.channel->try_send(message)) return Notifications::Delivery::socket_full;
  // A thread that waits for notifications sleeps on the same word as everybody else.
  outbox_.touch(receiver);
  return Notifications::Delivery::sent;
}

void Daemon::client_gone(Session& session, bool clean, const char* why) {
  now_ = monotonic_now();
  log(LogLevel::info, "client {} '{}' (pid {}) is gone: {}", session.client.value(), session.name,
      session.credentials.pid, why);
  if (!clean) departures_.count_reaped();
  departures_.begin(session, now_);
}

}  // namespace tentq
