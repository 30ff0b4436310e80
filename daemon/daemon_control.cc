// Signals, draining and stopping, and changes at run time. See daemon.h.
#include <charconv>
#include <csignal>

#include "daemon/config/config.h"
#include "daemon/daemon.h"
#include "daemon/lanes.h"
#include "daemon/logging/log.h"
#include "daemon/systemd.h"

namespace tentq {

namespace {

// After the drain time limit: for chunks in flight to end once everything else was canceled.
constexpr Duration kQuietLimit = std::chrono::seconds{5};

// For the directory to take the names of this host back.
constexpr Duration kLeaveLimit = std::chrono::seconds{1};

}  // namespace

void Daemon::wait_for_signal() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      reload();
    } else if (!stopping_) {
      begin_stop();
    } else {
      log(LogLevel::warning, "a second signal: what is queued is canceled");
      stop_deadline_ = Time{};
    }
    wait_for_signal();
  });
}

void Daemon::set_state(DaemonState state, const std::string& text) {
  state_ = state;
  sessions_.for_each([&](Session& session) {
    if (session.leaving) return;
    session.memory.view.sta()->state.store(static_cast<std::uint32_t>(state),
                                           std::memory_order_release);
    outbox_.touch(session);
  });
  if (state != DaemonState::running || !text.empty()) reception_.tell_all(state, text);
}

// Clients see that nothing new is taken first; then what they published before is taken whole, and
// only then does the core refuse. Who published in between is told so in the slot.
void Daemon::begin_drain(const char* text, Time now) {
  set_state(DaemonState::draining, text);
  inbox_.drain_everyone(now);
  effects_.clear_drained();
  core_.handle(core::DrainRequested{}, now);
}

void Daemon::begin_stop() {
  stopping_ = true;
  const Time now = monotonic_now();
  stop_deadline_ = now + settings_.drain_timeout;
  leave_deadline_ = now + kLeaveLimit;
  begin_drain("the daemon stops; it finishes what is queued", now);
  log(LogLevel::info, "stopping: {} owners are outstanding, at most {} s to drain",
      core_.outstanding().owners,
      std::chrono::duration_cast<std::chrono::seconds>(settings_.drain_timeout).count());
  systemd::notify_stopping("draining");
  if (directory_) directory_->names().leave(now);
  // Clients wait for, or go to, the next daemon; administrators can see what is waited for.
  for (auto& listener : listeners_) {
    if (!listener->admin()) listener->stop();
  }
}

void Daemon::continue_stop(Time now) {
  const bool empty = core_.outstanding() == core::Amounts{} && executor_.in_flight() == 0;
  if (empty || (shut_down_ && now - stop_deadline_ >= kQuietLimit)) {
    if (!empty) log(LogLevel::error, "chunks in flight did not end in time; stopping anyway");
    // Else its names stay until their lease ends.
    const bool left = !directory_ || directory_->names().has_left();
    if (!left && now < leave_deadline_) return;
    outbox_.publish();
    set_state(DaemonState::restarting, "the daemon has stopped");
    finished_ = true;
    return;
  }
  if (now >= stop_deadline_ && !shut_down_) {
    shut_down_ = true;
    stop_deadline_ = now;
    log(LogLevel::warning, "drain_timeout is over: {} owners are canceled",
        core_.outstanding().owners);
    core_.handle(core::ShutdownRequested{}, now);
  }
}

StatusCode Daemon::drain(std::string* text) {
  if (stopping_) {
    *text = "the daemon is stopping already";
    return StatusCode::busy;
  }
  begin_drain("an administrator drains the daemon; it finishes what is queued", now_);
  log(LogLevel::info, "draining on request, {} owners are outstanding", core_.outstanding().owners);
  *text = "draining; " + std::to_string(core_.outstanding().owners) +
          " owners are outstanding; `tentqctl resume` takes new work again";
  return StatusCode::ok;
}

StatusCode Daemon::resume(std::string* text) {
  if (stopping_) {
    *text = "the daemon is stopping; start it again instead";
    return StatusCode::busy;
  }
  core_.handle(core::ResumeRequested{}, now_);
  set_state(DaemonState::running, "the daemon takes new work again");
  log(LogLevel::info, "resumed on request");
  *text = "running";
  return StatusCode::ok;
}

StatusCode Daemon::set(const std::string& assignment, std::string* text) {
  constexpr std::string_view kClients = "clients.";
  const auto equals = std::min(assignment.find('='), assignment.size());
  const auto dot = assignment.rfind('.', equals);
  if (assignment.starts_with(kClients) && dot != std::string::npos && dot >= kClients.size()) {
    const std::string_view all = assignment;
    return set_client(all.substr(kClients.size(), dot - kClients.size()), all.substr(dot + 1),
                      text);
  }
  Settings changed = settings_;
  ConfigChange change;
  const StatusCode code = apply_assignment(&changed, assignment, text, &change);
  if (code != StatusCode::ok) return code;
  const StatusCode limits = core_.set_limits(changed.limits, text);
  if (limits != StatusCode::ok) return limits;
  const bool other_quotas = changed.quotas != settings_.quotas;
  apply(changed);
  if (other_quotas) renew_quotas();
  log(LogLevel::info, "set {}: {} → {}", change.key, change.from, change.to);
  *text = change.key + ": " + change.from + " → " + change.to + " (until the next restart)";
  return StatusCode::ok;
}

// A weight until its client detaches: `who` is a client's id or name, `assignment` is weight=N.
StatusCode Daemon::set_client(std::string_view who, std::string_view assignment,
                              std::string* text) {
  constexpr std::string_view kWeight = "weight=";
  constexpr std::uint32_t kMost = 10'000;
  std::uint32_t weight = 0;
  const std::string_view digits =
      assignment.starts_with(kWeight) ? assignment.substr(kWeight.size()) : std::string_view();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() ||
      weight == 0 || weight > kMost) {
    *text = "of a client only the weight can be set: clients.NAME.weight=N, N from 1 to " +
            std::to_string(kMost) + "; other limits are quotas";
    return StatusCode::invalid_argument;
  }
  ClientKey key;
  std::uint32_t sessions = 0;
  // A number is an id: clients choose their names, and one may be called "7".
  const bool is_id = who.find_first_not_of("0123456789") == std::string_view::npos;
  sessions_.for_each([&](const Session& session) {
    const bool is_it = is_id ? std::to_string(session.client.value()) == who : session.name == who;
    if (!session.leaving && is_it) key = session.key;
  });
  if (!key.valid()) {
    *text = "no client `" + escaped(who, 64) + "`; `tentqctl clients` lists ids and names";
    return StatusCode::not_found;
  }
  sessions_.for_each([&](const Session& session) { sessions += session.key == key ? 1 : 0; });
  const std::uint32_t before = sessions_.key(key).weight;
  sessions_.set_weight(key, weight);
  core_.handle(sessions_.terms_of(key), now_);
  const std::string change = "weight of client " + escaped(who, 64) + ": " +
                             std::to_string(before) + " → " + std::to_string(weight);
  log(LogLevel::info, "set {}", change);
  *text = change + ", for its " + std::to_string(sessions) +
          " sessions together (until the last of them detaches, the quotas change or the daemon "
          "restarts; a quota in the configuration lasts)";
  return StatusCode::ok;
}

void Daemon::renew_quotas() {
  std::string stay;
  sessions_.renew(
      settings_.quotas,
      [this](ClientKey key) { core_.handle(sessions_.terms_of(key), monotonic_now()); },
      [&stay](const Session& session) {
        stay += (stay.empty() ? "" : ", ") + std::to_string(session.client.value()) + " '" +
                session.name + '\'';
      });
  if (stay.empty()) return;
  log(LogLevel::warning,
      "quotas: clients {} match another quota or get other classes now; these apply when they "
      "attach again",
      stay);
}

void Daemon::apply(const Settings& settings) {
  settings_ = settings;
  core_.set_policy(settings_.policy);
  set_log_level(settings_.log.level);
  for (const LaneId lane : {kShmReadLane, kShmWriteLane}) {
    core_.handle(
        core::LaneWindowChanged{lane, settings_.shm.window_bytes, settings_.shm.window_chunks,
                                settings_.shm.chunk_bytes, settings_.shm.window},
        monotonic_now());
  }
}

void Daemon::reload() {
  systemd::notify_reloading();
  if (config_path_.empty()) {
    log(LogLevel::info, "nothing to reload: started without a configuration file");
  } else {
    const ConfigOutcome outcome = load_settings(config_path_);
    ReloadPlan plan;
    if (outcome.ok()) plan = diff_for_reload(settings_, *outcome.settings);
    for (const auto& errors : {outcome.errors, plan.errors}) {
      for (const ConfigError& error : errors) log(LogLevel::error, "reload: {}", error.text());
    }
    for (const ConfigChange& change : plan.refused) {
      log(LogLevel::warning, "reload: {} keeps {} until a restart (the file says {})", change.key,
          change.from, change.to);
    }
    std::string why;
    if (!outcome.ok() || !plan.errors.empty()) {
      log(LogLevel::error, "reload: refused, the configuration in force stays as it is");
    } else if (core_.set_limits(plan.result.limits, &why) != StatusCode::ok) {
      log(LogLevel::error, "reload: refused, {}", why);
    } else {
      apply(plan.result);
      renew_quotas();
      if (hosts_ && !hosts_->renew_certificates(&why)) {
        log(LogLevel::error, "reload: the certificates in force stay: {}", why);
      }
      for (const ConfigChange& change : plan.changes) {
        log(LogLevel::info, "reload: {}: {} → {}", change.key, change.from, change.to);
      }
    }
  }
  reopen_log();
  systemd::notify_ready("serving " + settings_.socket.path);
}

}  // namespace tentq
