// One data connection: owns the socket, the chunks that were handed to it, and what it is in the
// middle of sending and receiving. It lives on one thread of the transport. The conductor offers it
// chunks, which it sends at once if nothing waits, and receives from it while little comes: then no
// thread has to wake up for a small message. One file for each half: connection_send.cc,
// connection_receive.cc; connection_conductor.cc has what the conductor does itself, connection.cc
// the beginning and the end.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "transports/tcp/asked_reads.h"
#include "transports/tcp/byte_stream.h"
#include "transports/tcp/chained_table.h"
#include "transports/tcp/conductor_sockets.h"
#include "transports/tcp/inbound.h"
#include "transports/tcp/outbound.h"
#include "transports/tcp/peer_memory.h"
#include "transports/tcp/reports.h"
#include "transports/tcp/stall_watch.h"
#include "transports/tcp/tcp_chunk.h"
#include "transports/tcp/tcp_options.h"

namespace tentq {

struct ConnectionName {
  LinkKey link;
  std::uint64_t connection = 0;  // in the link
  TcpSide side{};
  std::uint32_t serial = 0;  // in the transport, below 2^24; of no other that is there
};

// READs that were asked on a connection are numbered so that the connection is found by it.
inline constexpr unsigned kReadSerialShift = 40;

// What a connection finds on its thread; all of it outlives the connection.
struct ConnectionSurroundings {
  const TcpOptions* options;
  PeerMemory* memory;
  Reports* reports;
  boost::asio::io_context* io;
  ConductorSockets* sockets;   // null: the thread alone receives
  std::span<std::byte> waste;  // where unwanted payload goes
};

// The host's monotonic clock.
Time tcp_now();

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // What became of a chunk that the conductor offered.
  enum class Offer : std::uint8_t {
    declined,    // the thread has to take it over
    taken,       // nothing is left to do
    rest_waits,  // taken; the thread has to flush
  };

  // Takes the socket over, connected and non-blocking; `stream` is null unless bytes are encrypted.
  Connection(const ConnectionName& name, int fd, std::unique_ptr<ByteStream> stream,
             const ConnectionSurroundings& surroundings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const ConnectionName& name() const { return name_; }

  // Conductor. Takes no chunk any more. A hint: what is handed to it all the same ends as `lost`.
  bool gone() const { return gone_.load(std::memory_order_relaxed); }
  // Conductor. Sends the chunk, at most inline_bytes long, if the connection is idle and its lock
  // free; encryption is left to the thread.
  Offer offer(TcpChunk* chunk);
  // Conductor. A chunk is being told to the thread: until it has that, none overtakes it by
  // offer().
  void comes() { coming_.fetch_add(1, std::memory_order_relaxed); }
  // Conductor. The command that makes the thread flush; null if it is on its way.
  IoCommand* ask_for_flush();
  // Conductor. Takes what has come if it is little, and lessens `left` by it. What its thread is to
  // be told; null: nothing. Never waits for the lock.
  IoCommand* receive_here(std::uint64_t* left);

  // All others: the connection's thread.
  void start();
  void take_over(TcpChunk* chunk);
  void flush();
  void flush_asked();
  void receive_asked();
  void cancel(std::uint64_t chunk_number);
  void refuse_read(std::uint64_t read, Reason reason);
  // Ends it unless it is lost, and reports connection_closed: `always`, or only if it was open.
  void close(bool always);
  // WRITE chunks that wait for a fence end: as `lost`, or as `refused` with peer_lost.
  void settle(bool fenced);
  void tick(Time now);
  // The transport ends: closes it and reports nothing.
  void abandon();

 private:
  enum class Progress : std::uint8_t { more, drained, paused, over };
  // What one call to the socket brought.
  struct Received {
    ssize_t bytes = 0;  // -1: `error`
    int error = 0;
    bool drained = false;  // there was less than asked for
    bool spoiled = false;  // its checksum could not be made: the memory is gone
  };
  // The payload that is arriving.
  struct Arrival {
    TcpChunk* chunk = nullptr;  // dialer
    std::uint64_t number = 0;   // acceptor: the WRITE's
    std::uint64_t length = 0;
    PinnedRange range;  // acceptor
    Reason reason = Reason::none;
    bool checked = false;
    std::uint32_t checksum = 0;  // as it was sent
    std::uint32_t so_far = 0;
  };
  // Answers that wait to be sent, heads of 24 to 56 bytes: while there are more, nothing is
  // received. So a peer that asks and does not read makes nothing grow.
  static constexpr std::size_t kMostWaitingHeads = 16u << 10;
  using Lock = std::lock_guard<std::mutex>;

  // All below under the lock, but for receive() and what concerns the descriptor.
  bool watch();
  void stop_watching();
  void wait_readable();
  bool holds_output() const { return stream_ && stream_->holds_output(); }
  void wait_writable();
  void lose(TcpLoss why, int error = 0, std::string_view detail = {});
  void end_socket();
  bool read_is_overdue(Time now);
  bool end_chunks();
  void report_end(TcpEventKind kind, TcpLoss why, int error, std::string_view detail);
  void finish(TcpChunk* chunk, ChunkOutcome outcome, Reason reason = Reason::none);

  bool has_large_chunks() const { return large_chunks_ != 0; }
  bool is_large(std::uint64_t bytes) const { return bytes > surroundings_.options->inline_bytes; }

  // connection_conductor.cc
  Offer send_now();
  IoCommand* leave_to_thread();
  void leave_to_conductor();
  void claim();

  // connection_send.cc
  bool admit(TcpChunk* chunk);
  bool admit_answer(TcpChunk* chunk);
  void ask_held_reads();
  void begin_next();
  bool begin(TcpChunk* chunk);
  bool begin_answer(TcpChunk* chunk, std::uint32_t flags, std::uint32_t checksum);
  void return_to_read(const TcpChunk* chunk);
  void send_refusal(AskedRead* read, Reason reason);
  bool answers_pile_up() const { return out_.waiting_head_bytes() > kMostWaitingHeads; }
  ssize_t send_some(std::size_t most);
  void on_sent(TcpChunk* chunk);
  void flush_locked();
  void on_send_error(int error);

  // connection_receive.cc
  void on_readable();
  Received receive(std::size_t most);
  Progress took(const Received& received);
  bool on_receive_error(int error);
  void spoil_arrival();
  Progress take_messages();
  bool take_head();
  bool take_write(const PeerWrite& head);
  bool take_read(const PeerRead& head);
  bool take_done(const PeerDone& head);
  bool take_data(const PeerData& head);
  bool end_payload();
  void end_read(TcpChunk* chunk, ChunkOutcome outcome, Reason reason);
  void release_range();
  bool break_off(std::string_view fault);

  const ConnectionName name_;
  const int fd_;
  const ConnectionSurroundings surroundings_;
  std::atomic<bool> gone_{false};  // a hint, see gone()
  FlushCommand flush_{this};
  // Set while flush_ is in the mailbox, by the conductor's exchange in ask_for_flush(); cleared by
  // the thread's store in flush_asked(), its partner. Without it the command would be linked in
  // twice.
  std::atomic<bool> flush_on_its_way_{false};
  // Chunks that the thread was told and has not taken over. The conductor adds; the thread takes
  // away under the lock, and offer() looks under it.
  std::atomic<std::uint32_t> coming_{0};
  ReceiveCommand receive_{this};  // in the mailbox only between leave_to_thread() and its taking

  // The thread's own.
  const std::unique_ptr<ByteStream> stream_;  // null: the socket itself
  boost::asio::posix::stream_descriptor descriptor_;
  bool waits_readable_ = false;
  bool waits_writable_ = false;

  // Of who receives: the thread, or the conductor under the lock.
  Inbound in_;
  Arrival arrival_;
  StallWatch receiving_;
  bool large_came_ =
      false;  // since the thread last looked: a payload that is not for the conductor

  // Taken by the thread, and tried by the conductor, which never waits for it.
  std::mutex mutex_;
  bool over_ = false;  // the socket is closed
  bool conductor_receives_ = false;
  bool paused_ = false;  // nothing is received: too many answers wait to be sent
  Outbound out_;
  ChunkRow queue_;  // WRITEs and answers that wait
  ChunkRow held_;   // READs that wait for reads_per_connection
  ChainedTable<TcpChunk, &TcpChunk::number, &TcpChunk::next_by_number> chunks_;  // all
  std::uint32_t large_chunks_ = 0;                                               // of them
  std::uint32_t reads_out_ = 0;
  std::uint32_t unanswered_ = 0;  // WRITEs
  AskedReads reads_;
  StallWatch sending_;
};

}  // namespace tentq
