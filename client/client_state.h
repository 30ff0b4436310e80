// A client: everything behind the public handles. Its methods are spread over files by event:
// client_state.cc (begin, end, facts), memory_calls.cc, segment_calls.cc, placement.cc, submit.cc,
// retire.cc, cancel.cc, waiting.cc, notify.cc, reattach.cc, replay.cc and library_thread.cc.
//
// Locks, in the order in which they may be taken: lifecycle_ (one thread attaches), then lock_ (the
// short one: slots, rings, tables; never held over a system call that waits). status() takes none.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/batch_pool.h"
#include "client/clock.h"
#include "client/completion_fd.h"
#include "client/control_channel.h"
#include "client/fork_guard.h"
#include "client/library_thread.h"
#include "client/lock.h"
#include "client/mailbox.h"
#include "client/outgoing.h"
#include "client/owner_builder.h"
#include "client/region_registry.h"
#include "client/segment_table.h"
#include "client/session.h"
#include "client/slot_tables.h"
#include "tentq/tentq.hpp"

namespace tentq::lib {

// Memory of allocate(): the caller's mapping and the fd behind it.
struct MemoryBlock {
  shm::Mapping mapping;
  std::shared_ptr<shm::Fd> fd;
  Region region;  // id 0: not registered
  std::weak_ptr<ClientState> client;
  ~MemoryBlock();
};

class ClientState final : public ControlSink,
                          public ForkGuard::Guarded,
                          public std::enable_shared_from_this<ClientState> {
 public:
  ClientState(const ConnectOptions& options, std::string path);
  ~ClientState() override;
  // The first attach. Then the thread, if there is to be one.
  Status start();
  // Cancels, waits for quiet (bounded) and detaches. Once.
  void close();

  // ok, or daemon_gone: closed, or in a forked child.
  Status usable() const { return is_usable() ? Status() : why_unusable(); }
  bool is_usable() const { return unusable_.load(std::memory_order_acquire) == Unusable::no; }
  bool forked() const { return unusable_.load(std::memory_order_relaxed) == Unusable::forked; }
  const SlotTables& tables() const { return tables_; }
  const std::string& name() const { return options_.name; }
  Welcome welcome();
  std::uint32_t largest_call();
  bool attached();
  std::uint64_t reattaches() const { return reattaches_.load(std::memory_order_relaxed); }

  // memory_calls.cc
  Result<std::shared_ptr<MemoryBlock>> allocate(std::size_t bytes, const AllocateOptions& options);
  Result<Region> register_memory(void* address, std::size_t bytes, const Rights& access,
                                 const RegisterOptions& options);
  Result<Region> register_fd(int fd, std::uint64_t offset, std::size_t length, void* address,
                             const Rights& access, const RegisterOptions& options);
  Status unregister(std::uint32_t region);
  Status unregister_wait(std::uint32_t region, Duration timeout);
  void release_block(const MemoryBlock& block);

  // segment_calls.cc
  Result<std::shared_ptr<SegmentEntry>> open_segment(std::string_view name);
  Result<std::vector<RemoteRegion>> segment_regions(const SegmentEntry& entry);
  void close_segment(SegmentEntry& entry);
  Result<std::string> query(std::string_view kind, std::string_view argument);

  // submit.cc, cancel.cc, retire.cc
  Status submit(BatchState& batch, std::span<const Request> requests, const SubmitOptions& options);
  Status cancel(BatchState& batch, TaskId task);
  Status cancel_all(BatchState& batch);
  Result<BatchState*> allocate_batch(std::uint32_t tasks);
  void free_batch(BatchState* batch);

  // waiting.cc
  Status submit_wait(BatchState& batch, std::span<const Request> requests,
                     const SubmitOptions& options, Duration timeout);
  Status wait(const BatchState& batch, Duration timeout);
  Status wait_verdict(const BatchState& batch, Duration timeout);
  Result<int> completion_fd();
  Status drive();

  // notify.cc
  Result<NotificationId> send_notification(const SegmentEntry& segment, std::string_view name,
                                           std::string_view message, BatchState* after);
  TaskStatus notification_status(NotificationId id);
  Result<NotificationBatch> receive_notifications();

  // ControlSink, ForkGuard::Guarded
  void on_notification(const Notification& message) override;
  void on_notice(const DaemonNotice& notice) override;
  void before_fork() override { lock_.lock(); }
  void after_fork_in_parent() override { lock_.unlock(); }
  void after_fork_in_child() override;

 private:
  enum class Unusable : std::uint8_t { no, closed, forked };
  // What a refused submit waits for.
  enum class Shortage : std::uint8_t { none, credit, room, daemon };
  using Guard = std::lock_guard<Lock>;

  Status why_unusable() const;
  Status exporting_needs_service() const;
  // The session to talk to, or null between a daemon's death and the re-attach.
  std::shared_ptr<Session> attached_session();
  // The newest session, attached or not.
  std::shared_ptr<Session> newest_session();
  Status detached() const;  // under lock_

  // memory_calls.cc
  struct FileRange {
    std::shared_ptr<shm::Fd> fd;
    std::uint64_t offset = 0;
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  Result<Region> register_range(const FileRange& range, const Rights& access,
                                const RegisterOptions& options);
  Status register_at_daemon(Session& session, RegionEntry& entry, const Progress& progress,
                            std::uint32_t* id);
  Status unregister_at_daemon(std::uint32_t region, bool wait, Clock::time_point until);
  static void on_unregistered(const std::weak_ptr<ClientState>& self, std::uint32_t region,
                              const ControlChannel::Answer& answer);

  // segment_calls.cc
  static Status open_at_daemon(Session& session, const SegmentEntry& entry, bool reattach,
                               SegmentReply* reply);
  static Status list_at_daemon(Session& session, std::uint32_t handle,
                               std::vector<RemoteRegion>* rows);

  // placement.cc, under lock_
  Status place(const Request& request, std::size_t index, Placed* placed,
               const SegmentEntry** segment);
  Status check_aliasing(const Request& request, std::size_t index, const RegionEntry& local,
                        std::uint64_t local_offset);

  // submit.cc, under lock_
  Status try_submit(BatchState& batch, std::span<const Request> requests,
                    const SubmitOptions& options, Shortage* shortage);
  Call next_call(ClassId cls, const SubmitOptions& options);
  [[gnu::cold]] static Status refuse_class(const Session& session, ClassId cls);
  Status check_daemon(const Session& session, Shortage* shortage) const;
  Status check_sizes(const Session& session, const OwnerBuilder& built,
                     std::span<const Owner> owners) const;
  [[gnu::cold]] Status check_slots(Session& session, ClassId cls, std::uint32_t owners);
  [[gnu::cold]] static Status refuse_credit(Session& session, ClassId cls,
                                            const shm::CreditAmounts& amounts);
  // False: the ring is full, and nothing was published.
  bool publish(Session& session, BatchState& batch, const Call& call, std::uint32_t first,
               std::uint32_t owners);
  void fill_cell(const Owner& owner, const Call& call, const SlotRef& ref, CellBody* cell);

  // cancel.cc, under lock_
  Status cancel_owner(BatchState& batch, Owner& owner);
  Status cancel_everything();

  // retire.cc, under lock_
  void retire(BatchState& batch);
  void sweep();
  void sweep_notifications();
  void finish_notification(std::uint64_t serial, SentNotification& sent, const OwnerView& outcome);
  void recycle(BatchState* batch);
  void recycle_settled();
  // Ends the registration of retiring regions and closes segments that no transfer needs any more.
  // Without lock_.
  void purge();
  bool region_in_use(std::uint32_t region) const;
  bool segment_in_use(std::uint32_t segment) const;
  template <class Visit>
  void for_each_unfinished(Visit visit) const {
    for (const auto& batch : batches_.live()) {
      const std::uint32_t count = batch->owner_count.load(std::memory_order_relaxed);
      for (std::uint32_t i = batch->settled.load(std::memory_order_relaxed); i < count; ++i) {
        Owner& owner = batch->owners[i];
        if (!tentq::is_terminal(tables_.state(owner))) visit(*batch, owner, i);
      }
    }
  }
  static void latch(Owner& owner, const OwnerView& outcome) {
    owner.final = outcome;
    owner.store(OwnerWord::terminal(outcome.state, outcome.reason));
  }

  // waiting.cc
  // `done` is asked again after every change and at the latest after every slice.
  Status wait_until(Clock::time_point deadline, Duration slice, const std::function<bool()>& done);
  // What the library's thread would do, when there is none. Takes at most `most`.
  void tend(Duration most);

  // notify.cc, under lock_
  Status publish_notification(Session& session, std::uint64_t serial, SentNotification& sent);
  Status collect_after(const SentNotification& sent, std::vector<SlotRef>* refs, bool* failed);
  void republish_notifications(Session& session);

  // reattach.cc
  // What the next daemon calls the client's regions and segments, or why it does not know them.
  struct Restored {
    struct Row {
      std::uint32_t id = 0;          // Region::id or SegmentId
      std::uint32_t session_id = 0;  // RegionId or SegmentHandle; 0 = refused
      std::string refusal;
    };
    std::vector<Row> regions, segments;
  };
  void note_lost(Session& session);
  // One attempt, of at most `most`, if one is due. True: attached.
  bool try_reattach(Duration most);
  Duration until_next_attempt();
  Hello reattach_hello();
  Status restore(Session& session, Restored* restored);
  Status restore_regions(Session& session, Restored* restored);
  Status restore_segments(Session& session, Restored* restored);
  void apply(const Restored& restored);  // under lock_
  void adopt(std::unique_ptr<Session> session, const Restored& restored);
  void give_up();
  // Under lock_: from now on this is the client's session.
  void take_session(std::shared_ptr<Session> session);

  // replay.cc, under lock_
  static OwnerWord unbind(Session& session, Owner& owner, OwnerView* ended);
  void unbind_all(Session& session);
  void end_unrepeatable();
  void fill_backlog();
  void publish_backlog();
  bool replay(Session& session, BatchState& batch, std::uint32_t index, OwnerView* ended);
  static bool shorten(std::uint64_t* duration_ns, std::int64_t from_ns);
  bool backlogged(ClassId cls) const { return !backlog_[index_of(cls)].empty(); }
  bool backlogged() const;

  // library_thread.cc
  void thread_main();
  bool has_thread() const { return thread_.running(); }

  const ConnectOptions options_;
  const std::string path_;
  const std::uint64_t incarnation_;
  std::atomic<Unusable> unusable_{Unusable::no};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> shut_out_{false};  // by a notice: re-attaching would be refused or harmful
  std::atomic<std::uint64_t> reattaches_{0};
  SlotTables tables_;
  Mailbox mailbox_;
  CompletionFd completion_fd_;
  LibraryThread thread_;

  std::mutex lifecycle_;  // one thread attaches; guards the next three
  Duration backoff_{0};
  Clock::time_point next_attempt_{};
  bool given_up_ = false;  // what was unfinished has ended; attempts go on

  Lock lock_;                         // guards everything below
  std::shared_ptr<Session> session_;  // the newest; null only before start()
  bool attached_ = false;
  bool closing_ = false;
  Clock::time_point lost_at_{};
  Token token_{};
  std::uint16_t next_ordinal_ = 1;
  std::uint64_t next_call_ = 1;
  RegionRegistry regions_;
  SegmentTable segments_;
  BatchPool batches_;
  OutgoingNotifications outgoing_;
  std::vector<CellBody> cells_;  // of the call being published
  std::vector<SlotRef> refs_;
  struct Unpublished {
    BatchState* batch = nullptr;
    std::uint32_t owner = 0;
  };
  std::array<std::deque<Unpublished>, kMaxClasses> backlog_;  // to be repeated, oldest first
  bool republish_ = false;                                    // notifications are to be repeated
  std::vector<MemoryBlock*> blocks_;
  std::vector<shm::Mapping> graveyard_;    // STA of earlier sessions, all zeros
  std::shared_ptr<ClientState> immortal_;  // itself, in a forked child
};

}  // namespace tentq::lib
