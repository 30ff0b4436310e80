// The C++ interface of tentq: a process attaches to its host's transfer daemon, shares memory with
// it and submits transfers. C++20; no exceptions cross it (allocation failure of the standard
// library aside). Link `tentq::tentq`.
//
// Threads: every member function may be called by any thread at any time, except that moving,
// freeing or destroying a handle (Client, Memory, Segment, Batch) must not race with its use.
// Blocking: only calls whose name contains `wait` wait for transfers or for room. Calls marked
// "round trip" wait for the daemon's answer on the control socket; they answer `daemon_gone` when
// the daemon dies meanwhile. connect() and the destructor of Client say themselves how long they
// take. fork(): in a child that has not called exec, every call answers `daemon_gone`.
#pragma once

#include <span>

#include "tentq/types.hpp"

namespace tentq {

namespace lib {
class ClientState;
struct BatchState;
struct SegmentEntry;
struct MemoryBlock;
}  // namespace lib

inline namespace v1 {

// Memory from Client::allocate(): shared with the daemon, so that it is transferred without a copy.
// Owns it: destroying the handle unregisters and unmaps it (transfers that still use it go on in
// the daemon, whose own mapping lives until they are quiet). May outlive its client.
class TENTQ_EXPORT Memory {
 public:
  Memory() = default;
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;
  ~Memory();

  std::byte* data() const;
  std::size_t size() const;  // bytes; as asked, rounded up to whole pages
  std::span<std::byte> bytes() const { return {data(), size()}; }
  // Its registration; id 0 when allocated with registered = false.
  const Region& region() const;
  explicit operator bool() const { return block_ != nullptr; }

 private:
  friend class Client;
  explicit Memory(std::shared_ptr<lib::MemoryBlock> block);
  std::shared_ptr<lib::MemoryBlock> block_;
};

// An opened segment: another client's exported address space (or one's own). Destroying the handle
// closes it without waiting; transfers already submitted go on.
class TENTQ_EXPORT Segment {
 public:
  Segment() = default;
  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;
  ~Segment();

  SegmentId id() const;
  operator SegmentId() const { return id(); }  // NOLINT: a Request takes a Segment as it is
  const std::string& name() const;             // as it was opened
  // Its regions that this client may use, in order of offset. Round trip.
  // Errors: daemon_gone, stale_handle, not_found.
  Result<std::vector<RemoteRegion>> regions() const;
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  friend class Client;
  Segment(std::shared_ptr<lib::ClientState> client, std::shared_ptr<lib::SegmentEntry> entry);
  std::shared_ptr<lib::ClientState> client_;
  std::shared_ptr<lib::SegmentEntry> entry_;
};

// A fixed number of tasks, filled by submit() and watched together. Destroying the handle is
// Client::free_batch(). The calls below never block and take no lock, except wait().
class TENTQ_EXPORT Batch {
 public:
  Batch() = default;
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  // Of one task; State::invalid for a number that was never submitted, or a freed batch.
  TaskStatus status(TaskId task) const;
  // Of all tasks submitted so far; costs O(owners).
  BatchStatus overall() const;
  // Whether all tasks submitted so far are done; amortised O(1).
  bool done() const;
  // Waits until done(). Errors: timeout; daemon_gone once it is freed or its client destroyed.
  Status wait(std::chrono::nanoseconds timeout) const;

  std::uint32_t tasks() const;     // submitted so far
  std::uint32_t capacity() const;  // as allocated
  explicit operator bool() const { return state_ != nullptr; }

 private:
  friend class Client;
  Batch(std::shared_ptr<lib::ClientState> client, lib::BatchState* state);
  std::shared_ptr<lib::ClientState> client_;
  lib::BatchState* state_ = nullptr;
};

struct NotifyOptions {
  // Delivered once every task submitted to it so far is completed; dropped (predecessor_failed)
  // when one ends otherwise. At most 1,024 unfinished owners.
  const Batch* after = nullptr;
};

// A process's attachment to the daemon. Destroying it cancels what is queued, waits until the
// daemon no longer touches this client's transfers (at most ConnectOptions::reattach_timeout) and
// detaches; its Batches then read as they stood, and calls on them answer daemon_gone.
class TENTQ_EXPORT Client {
 public:
  // Attaches; takes at most options.attach_timeout. Fails at once when nobody listens.
  // Errors: daemon_gone (no socket: is it running?), not_permitted (the socket's group),
  // name_in_use, incompatible (both versions in the text), exhausted, draining, invalid_argument.
  static Result<Client> connect(const ConnectOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // --- memory -----------------------------------------------------------------------------------
  // Allocates `bytes` (rounded up to pages), touches every page and, unless told otherwise,
  // registers it. Round trip. Errors: exhausted, invalid_argument, daemon_gone, and those of
  // register_memory.
  Result<Memory> allocate(std::size_t bytes, const AllocateOptions& options = {});
  // Registers a range that lies in memory from allocate() and is not registered yet. Round trip.
  // Errors: unsupported for other memory (use allocate() or register_fd()), invalid_argument when
  // it overlaps a registered range, too_large, exhausted, not_permitted, daemon_gone.
  Result<Region> register_memory(void* address, std::size_t bytes, const Rights& access = {},
                                 const RegisterOptions& options = {});
  // Registers bytes [offset, offset + length) of a memfd, tmpfs or hugetlbfs file that the caller
  // has mapped shared at `address`. The fd is duplicated. Round trip. Errors: as register_memory;
  // invalid_argument when the file is shorter than the range.
  Result<Region> register_fd(int fd, std::uint64_t offset, std::size_t length, void* address,
                             const Rights& access = {}, const RegisterOptions& options = {});
  // Ends a registration. Round trip. Errors: busy while transfers use it, not_found, daemon_gone.
  Status unregister(const Region& region);
  // The same, but waits until nothing uses it. Errors: timeout, not_found, daemon_gone.
  Status unregister_wait(const Region& region, std::chrono::nanoseconds timeout);

  // --- segments ---------------------------------------------------------------------------------
  // Opens what the client called `name` exports: "store-1", "tentq://host[:port]/store-1"
  // or, by the directory, "tentq:///store-1".
  // Round trip. Errors: not_found, no_route, not_permitted, exhausted, daemon_gone.
  Result<Segment> open_segment(std::string_view name);

  // --- transfers --------------------------------------------------------------------------------
  // Room for `tasks` (at least 1) requests. No call to the daemon. Errors: invalid_argument,
  // daemon_gone when the client is unusable.
  Result<Batch> allocate_batch(std::uint32_t tasks);
  // Hands over all requests, or none: after a refusal nothing was published and the batch is as
  // before. An empty call is ok. Never blocks; no system call unless the daemon sleeps.
  // Errors: invalid_argument (length 0, memory that is not registered, source and target of one
  // request overlap, unknown segment, range that wraps, class not granted), batch_full,
  // too_large (more owners or bytes than a limit; never succeeds), too_many_requests (retry when
  // something has completed), draining, daemon_gone (also while a restarted daemon is re-attached).
  Status submit(Batch& batch, std::span<const Request> requests, const SubmitOptions& options = {});
  // The same, but on too_many_requests or daemon_gone waits for room, at most `timeout`; large
  // calls are not overtaken for ever by small ones. Errors: as submit; too_many_requests or
  // daemon_gone when the time is over.
  Status submit_wait(Batch& batch, std::span<const Request> requests, const SubmitOptions& options,
                     std::chrono::nanoseconds timeout);
  // Waits until the daemon has accepted or refused everything submitted to the batch so far.
  // ok: accepted (or even done). Else the first refusal: not_permitted, stale_handle, no_route,
  // unmeetable, draining, too_many_requests, invalid_argument …; timeout.
  Status wait_verdict(const Batch& batch, std::chrono::nanoseconds timeout);
  // Asks for the end of the owner that holds the task, and so of every task merged with it
  // (SubmitOptions::merge). The outcome is its status: canceled, or whatever came first. Done tasks
  // and repeated calls are fine. Errors: not_found, too_many_requests (no room to ask; retry).
  Status cancel(const Batch& batch, TaskId task);
  // Every unfinished task of the batch.
  Status cancel(const Batch& batch);
  // Gives the batch back. Unfinished transfers go on; what the batch holds is reused once they are
  // done. The handle is empty afterwards.
  void free_batch(Batch& batch);

  // --- waiting without a thread -----------------------------------------------------------------
  // An fd, the same over the client's life and owned by it, that becomes readable when something
  // has completed, a notification came, or drive() has work. For epoll and asyncio: wait for it,
  // call drive(), then look at statuses; whatever happens after drive() makes it readable again.
  // Errors: exhausted, daemon_gone when the client is unusable.
  Result<int> completion_fd();
  // Takes what has arrived from the daemon, re-arms completion_fd(), and (without the library's
  // thread) re-attaches after a daemon's restart. Does not wait, except that re-attaching takes
  // round trips. Errors: daemon_gone while there is no daemon.
  Status drive();

  // --- notifications ----------------------------------------------------------------------------
  // Sends at most 64 bytes of name and 4,096 of message to the exporter of the segment. The result
  // names it in notification_status(). Never blocks. Errors: invalid_argument, too_many_requests,
  // daemon_gone.
  Result<NotificationId> send_notification(const Segment& segment, std::string_view name,
                                           std::string_view message,
                                           const NotifyOptions& options = {});
  // COMPLETED: it is in the receiver's mailbox. FAILED: dropped, the reason says why (mailbox_full,
  // predecessor_failed, peer_lost). Outcomes of the last 1,024 finished ones are kept; older ones
  // and unknown ids read State::invalid.
  TaskStatus notification_status(NotificationId id) const;
  // Takes what has arrived; may be nothing. Never blocks. Errors: invalid_argument without
  // background_thread or promise_drive, or for an anonymous client; daemon_gone when the client is
  // unusable.
  Result<NotificationBatch> receive_notifications();

  // --- facts ------------------------------------------------------------------------------------
  std::uint64_t id() const;  // as `tentqctl clients` shows it; changes when re-attached
  const std::string& name() const;
  ClientLimits limits() const;
  std::string daemon_version() const;
  bool attached() const;             // false between a daemon's death and the re-attach
  std::uint64_t reattaches() const;  // completed so far
  // What the daemon says about itself, a JSON document: "status", "queue", "segments", "owners",
  // "explain" … with arguments such as "by=client". Round trip.
  // Errors: invalid_argument, not_permitted, not_found, daemon_gone.
  Result<std::string> query(std::string_view kind, std::string_view argument = {});

 private:
  explicit Client(std::shared_ptr<lib::ClientState> state);
  std::shared_ptr<lib::ClientState> state_;
};

}  // namespace v1
}  // namespace tentq
