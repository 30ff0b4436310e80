// The beginning and the end of a client, its facts, and what the daemon says unasked.
#include "client/client_state.h"

#include <sys/random.h>

#include <cstdlib>

#include "client/attach.h"
#include "proto/check.h"
#include "proto/version.h"

namespace tentq::lib {

namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    TENTQ_CHECK(::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number));
  }
  return number;
}

}  // namespace

ClientState::ClientState(const ConnectOptions& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      incarnation_(random_number()),
      mailbox_(options.mailbox) {}

ClientState::~ClientState() = default;

Status ClientState::start() {
  AttachRequest request;
  request.path = path_;
  std::uint32_t mask = 0;
  for (const Class cls : options_.classes) mask |= bit_of(static_cast<ClassId>(cls));
  request.hello = make_hello(options_.name, incarnation_, mask);
  request.until = deadline_after(options_.attach_timeout);
  Result<std::unique_ptr<Session>> session = attach(request, this);
  if (!session.ok()) return session.status();
  {
    const Guard hold(lock_);
    take_session(std::move(*session));
  }
  ForkGuard::add(this);
  if (!options_.background_thread) return {};
  const int error = thread_.start([this] { thread_main(); });
  if (error == 0) return {};
  close();
  return {Code::exhausted, "the library's thread could not be started"};
}

void ClientState::take_session(std::shared_ptr<Session> session) {
  session->ordinal = next_ordinal_;
  next_ordinal_ = static_cast<std::uint16_t>((next_ordinal_ + 1) & OwnerWord::kOrdinalMask);
  tables_.publish(session->ordinal, session->slots(), session->sizes().slots);
  cells_.resize(session->sizes().ring_cells);
  refs_.resize(session->sizes().ring_cells);
  token_ = session->welcome().token;
  session_ = std::move(session);
  attached_ = true;
}

void ClientState::close() {
  if (!usable().ok()) return;
  {
    const Guard hold(lock_);
    closing_ = true;
  }
  // The daemon may touch this client's transfers until they are terminal; it is asked to hurry.
  const auto quiet = [this] {
    const Guard hold(lock_);
    if (!attached_ || session_->channel().lost()) return true;  // nobody touches them any more
    const bool asked = cancel_everything().ok();
    sweep();
    sweep_notifications();
    bool busy = !outgoing_.unfinished().empty();
    for_each_unfinished([&](BatchState&, Owner&, std::uint32_t) { busy = true; });
    return asked && !busy;
  };
  // A daemon that hangs must not hang this process's end as well.
  (void)wait_until(deadline_after(options_.reattach_timeout), std::chrono::milliseconds{2}, quiet);
  stopping_.store(true, std::memory_order_release);
  thread_.join();
  ForkGuard::remove(this);
  const std::lock_guard attaching(lifecycle_);
  const std::shared_ptr<Session> session = newest_session();
  session->channel().tell(make_message<Goodbye>());
  session->channel().shut();
  {
    const Guard hold(lock_);
    attached_ = false;
    unbind_all(*session);
    for_each_unfinished([](BatchState&, Owner& owner, std::uint32_t) {
      latch(owner, {.state = owner.cancel_asked ? TaskState::canceled : TaskState::failed,
                    .reason = owner.cancel_asked ? Reason::canceled : Reason::daemon_gone});
    });
    for (auto& backlog : backlog_) backlog.clear();
    graveyard_.push_back(session->retire());
    unusable_.store(Unusable::closed, std::memory_order_release);
  }
  completion_fd_.raise();
}

void ClientState::after_fork_in_child() {
  unusable_.store(Unusable::forked, std::memory_order_release);
  // Never destroyed in the child: threads that do not exist here hold its locks and wait for its
  // conditions.
  immortal_ = weak_from_this().lock();
  if (session_ != nullptr) session_->abandon();
  completion_fd_.abandon();
  thread_.abandon();
  lock_.unlock();
}

Status ClientState::why_unusable() const {
  if (forked()) {
    return {Code::daemon_gone,
            "this client belongs to the parent process; connect again after fork()"};
  }
  return {Code::daemon_gone, "this client was closed"};
}

Status ClientState::exporting_needs_service() const {
  if (options_.background_thread || options_.promise_drive) return {};
  return {Code::invalid_argument,
          "exporting memory and receiving notifications need the library's thread; set "
          "background_thread, or set promise_drive and call drive()"};
}

std::shared_ptr<Session> ClientState::attached_session() {
  const Guard hold(lock_);
  return attached_ ? session_ : nullptr;
}

std::shared_ptr<Session> ClientState::newest_session() {
  const Guard hold(lock_);
  return session_;
}

Status ClientState::detached() const {
  if (shut_out_.load(std::memory_order_relaxed)) {
    return {Code::quarantined, "the daemon shut this client out; connect again"};
  }
  return {Code::daemon_gone, "the daemon is gone; the client attaches again when it is back"};
}

Welcome ClientState::welcome() {
  return newest_session()->welcome();
}

std::uint32_t ClientState::largest_call() {
  return newest_session()->largest_call();
}

bool ClientState::attached() {
  if (!usable().ok()) return false;
  const Guard hold(lock_);
  return attached_ && !session_->channel().lost();
}

void ClientState::on_notification(const Notification& message) {
  if (mailbox_.put(message)) completion_fd_.raise();
}

void ClientState::on_notice(const DaemonNotice& notice) {
  // `quarantined` is also said to a session that another process has replaced. Draining and
  // restarting show in STA; the connection's end follows and is handled there.
  if (notice.state == DaemonState::quarantined) shut_out_.store(true, std::memory_order_relaxed);
}

}  // namespace tentq::lib
