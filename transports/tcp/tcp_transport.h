// Moves chunks between registered memory of this host and of another: from the memory to the
// socket, from the socket to the memory, on threads of its own; a small chunk goes to an idle
// connection from the conductor itself. The daemon makes and authenticates the connections and
// hands them over; it says which lane goes over which link, and answers what a peer asks for.
// Sizes in bytes. Conductor thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transports/tcp/chunk_book.h"
#include "transports/tcp/conductor_sockets.h"
#include "transports/tcp/io_thread.h"
#include "transports/tcp/link_table.h"
#include "transports/tcp/peer_memory.h"
#include "transports/tcp/serials.h"
#include "transports/tcp/tcp_events.h"
#include "transports/tcp/tcp_options.h"
#include "transports/transport.h"
#include "transports/wakeup_fd.h"

namespace tentq {

// Which chunks it takes:
// - READ and WRITE (`answer` false): over the link of their lane; remote.offset is in the address
//   space of the segment that peer_handle names. A lane without a living connection ends its chunks
//   as `lost`.
// - answers: pieces of a READ that a peer asked for, over the connection that it came by;
//   peer_handle is TcpEvent::read, remote.offset counts from the READ's start. They end as `done`
//   when the kernel or the stream has the bytes, as `lost` when the connection is over, as `failed`
//   when the READ is not open or the piece outside of it or posted twice.
//
// How a READ or WRITE ends besides done, canceled and failed: `refused` with the peer's reason;
// `memory_fault` if memory of this side is gone; `lost` if its connection is. A WRITE that may have
// been sent in part is not quiet before the peer says that nothing of the connection is applied any
// more: it ends after fenced() as `lost`, after unfenced() as `refused` with Reason::peer_lost.
// Nothing is ever sent twice by the transport itself.
//
// With TcpOptions::checksum, install_sigbus_guard() comes first: the checksum touches memory.
class TcpTransport final : public Transport {
 public:
  // `memory` outlives it. Throws std::invalid_argument for options out of range and
  // std::system_error when a thread or fd cannot be made.
  TcpTransport(PeerMemory* memory, const TcpOptions& options = {});
  // Connections are closed; chunks in flight end without a completion, and nothing is touched
  // afterwards.
  ~TcpTransport() override;
  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  std::string_view name() const override { return "tcp"; }
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  // A chunk of which nothing was sent ends as canceled; all others end when they end.
  void cancel(ChunkId id) override;
  bool arm_wakeup() override;
  int wakeup_fd() const override { return sockets_ ? sockets_->fd() : wakeup_.fd(); }

  // With TcpOptions::conductor_receives: takes what has come, if it is time for a look. poll() does
  // it too; what is in flight or not, it is called in every turn.
  void look(Time now) {
    if (sockets_ && (slept_ || now >= next_look_)) receive_ready(now);
  }

  // Takes events like poll() takes completions; events make wakeup_fd() readable too.
  std::size_t poll_events(std::span<TcpEvent> events);

  // Takes over `fd`: connected, non-blocking, authenticated, with no byte of a message read or
  // written. `stream`, if there is one, encrypts what goes over it. `connection` is not used twice
  // in a link. Its end comes as one event, once.
  void add_connection(LinkKey link, TcpSide side, std::uint64_t connection, int fd,
                      std::unique_ptr<ByteStream> stream = nullptr);
  // Chunks of the lane go over the link's dialled connections, each over that with the fewest
  // outstanding bytes. A lane is bound anew at any time; chunks in flight stay where they are.
  void bind_lane(LaneId lane, LinkKey link);
  // Closes all connections of the link and unbinds its lanes; connection_closed follows for each
  // that was open.
  void drop_link(LinkKey link);
  // Closes one. connection_closed follows in any case, also if it is over or unknown: no byte of it
  // is applied any more. What a peer's FENCE asks for.
  void close_connection(LinkKey link, std::uint64_t connection);
  // The peer confirmed that nothing of that connection, which is over, is applied any more; or will
  // not confirm it. Ends the WRITE chunks that wait for it. Ignored for others.
  void fenced(LinkKey link, std::uint64_t connection) { settle(link, connection, true); }
  void unfenced(LinkKey link, std::uint64_t connection) { settle(link, connection, false); }
  // Ends a READ that a peer asked for: nothing more of it is sent. Pieces that wait end as
  // canceled. Ignored if it was answered or its connection is over. `reason` is not none.
  void refuse_read(std::uint64_t read, Reason reason);

  // Connections that are open or wait for a fence.
  std::size_t connections() const { return connections_; }

 private:
  bool accept(const Chunk& chunk, Time now);
  bool offer(TcpChunk* entry);
  void tell(IoThread* thread, IoCommand* command);
  void wake_told();
  bool receive_ready(Time now);
  TcpChunk* take_ended();
  void close_if_quiet(LinkedConnection* linked);
  void settle(LinkKey link, std::uint64_t connection, bool fenced);

  const TcpOptions options_;
  PeerMemory* memory_;
  WakeupFd wakeup_;
  std::optional<ConductorSockets> sockets_;
  bool slept_ = false;  // somebody may have waited for wakeup_fd() since the last look
  Time next_look_{};
  Time lively_until_{};  // looks are frequent: something was sent or has come
  ChunkBook book_;
  std::deque<TcpEvent> events_here_;  // of connections that no thread knows
  ChunkRow ended_here_;               // had no connection
  std::uint64_t inline_left_;         // that may still be sent from here before the next poll
  Serials serials_;
  std::size_t connections_ = 0;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::vector<IoThread*> told_;  // have commands and were not woken
  LinkTable links_;              // behind the threads: a connection does not outlive its own
};

}  // namespace tentq
