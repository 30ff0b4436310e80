// The daemon: makes the parts, joins them and runs them. What it does itself is only what several
// parts need: the steps of a turn, the end of sessions, draining, changes at run time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/admin.h"
#include "daemon/attach.h"
#include "daemon/background.h"
#include "daemon/conductor.h"
#include "daemon/core/core.h"
#include "daemon/departures.h"
#include "daemon/directory/etcd_directory.h"
#include "daemon/effects.h"
#include "daemon/executor.h"
#include "daemon/exported_names.h"
#include "daemon/hosts/hosts.h"
#include "daemon/inbox.h"
#include "daemon/inspector.h"
#include "daemon/listener.h"
#include "daemon/logging/error_book.h"
#include "daemon/metrics/latencies.h"
#include "daemon/metrics/scrape_listener.h"
#include "daemon/notifications.h"
#include "daemon/outbox.h"
#include "daemon/reception.h"
#include "daemon/registration.h"
#include "daemon/segment_requests.h"
#include "daemon/sessions.h"
#include "daemon/settings.h"
#include "daemon/status_page/status_page.h"
#include "transports/paced/paced_transport.h"
#include "transports/shm/shm_transport.h"

namespace tentq {

class Daemon final : Conductor::Steps,
                     Inbox::Host,
                     Notifications::Host,
                     Attach::Host,
                     Registration::Host,
                     Reception::Host,
                     Admin::Control {
 public:
  // `config_path` is read again on SIGHUP; empty: there was none.
  // `terms`: none when there are to be no links to other hosts.
  Daemon(Settings settings, std::string config_path, const Epoch& epoch,
         std::optional<PeerTerms> terms);
  ~Daemon();

  // Opens the sockets, or takes systemd's. False with *why.
  bool listen(std::string* why);
  // Until SIGTERM or SIGINT and everything has drained.
  void run();

 private:
  // Conductor::Steps
  bool work(Time now) override;
  bool glance() const override;
  bool prepare_sleep(Time now) override;
  void park_idle(Time now) override;
  Time next_deadline() override;
  void periodic(Time now) override;
  bool finished() const override { return finished_; }
  // Inbox::Host, Notifications::Host, Reception::Host
  void violation(Session& session, Violation what) override;
  void quarantine(Session& session, Violation what) override;
  void wish_taken(Session& session) override;
  Session* session(SessionId id) override { return sessions_.find(id); }
  void notification_ended(Session& sender, std::uint32_t slot, std::uint32_t generation,
                          TaskState state, Reason reason) override;
  Notifications::Delivery deliver(Session& receiver, const Notification& message) override;
  void client_gone(Session& session, bool clean, const char* why) override;
  void mailbox_writable(Session& session) override { notifications_.flush(session); }
  // Attach::Host, Registration::Host
  bool accepting() const override { return state_ == DaemonState::running; }
  Time now() const override { return now_; }
  void replace(Session& session) override;
  void attached(Session& session, const Hello& hello, shm::Fd doorbell) override;
  void attach_refused(const ControlChannel& channel, StatusCode code,
                      const std::string& text) override;
  void take_requests() override { inbox_.drain_everyone(now_); }
  void region_added(Session& session) override;
  void not_locked(std::uint64_t bytes, int error) override;
  // Admin::Control
  StatusCode drain(std::string* text) override;
  StatusCode resume(std::string* text) override;
  StatusCode set(const std::string& assignment, std::string* text) override;

  void wait_for_signal();
  void wait_for_doorbell(Session& session);
  void wait_for_completions(std::size_t transport);
  shm::Fd open_socket(bool admin, int* error);
  void reach_hosts(PeerTerms terms);
  void open_directory();
  void listen_for_scrapes();
  void set_state(DaemonState state, const std::string& text);
  void begin_drain(const char* text, Time now);
  void begin_stop();
  void continue_stop(Time now);
  void reload();
  void apply(const Settings& settings);
  void renew_quotas();
  StatusCode set_client(std::string_view who, std::string_view assignment, std::string* text);

  Settings settings_;
  std::string config_path_;
  Epoch epoch_;
  HostId host_{};  // none without links to other hosts
  DaemonState state_ = DaemonState::starting;
  std::vector<std::string> warnings_;
  Latencies latencies_;
  std::string metrics_;  // where they are served, or empty
  Time now_;
  bool finished_ = false;
  bool stopping_ = false;
  bool shut_down_ = false;
  Time stop_deadline_ = kNever;
  Time leave_deadline_ = kNever;
  Time last_beat_{};
  Time next_tick_{};

  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  ErrorBook errors_;
  core::Core core_;
  Background background_;
  Regions regions_;
  Segments segments_;
  Sessions sessions_;
  ShmTransport shm_;
  HostPaceClock pace_clock_;
  std::unique_ptr<PacedTransport> paced_;  // over shm_; null if its lanes are not paced
  Executor executor_;
  std::vector<boost::asio::posix::stream_descriptor> completions_;  // of each transport
  Notifications notifications_;
  Inbox inbox_;
  Outbox outbox_;
  Registration registration_;
  SegmentRequests segment_requests_;
  Departures departures_;
  Effects effects_;
  std::unique_ptr<Hosts> hosts_;                   // null: there are no links to other hosts
  std::unique_ptr<EtcdDirectory> directory_;       // null: there is none
  std::unique_ptr<ExportedNames> exported_names_;  // likewise
  Conductor conductor_;
  Inspector inspector_;
  Attach attach_;
  Admin admin_;
  Reception reception_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<ScrapeListener> scrapes_;  // null: metrics are not served
  std::unique_ptr<StatusPageWriter> page_;
};

}  // namespace tentq
