// Two hosts in one process for the tests of the TCP transport: loopback sockets, the other host's
// memory, its daemon on a thread of its own, and both as one transport for the conformance suite.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "transports/tcp/tcp_transport.h"

namespace tentq::test {

inline constexpr LinkKey kLink{3};
inline constexpr std::uint64_t kSegment = 7;

// Both ends of a TCP connection over loopback, non-blocking.
std::pair<int, int> connected_sockets();

// A segment whose addresses are those of this process: all of it may be written, unless `refusal`
// is set.
class OpenMemory final : public PeerMemory {
 public:
  PinnedRange pin(LinkKey link, std::uint64_t segment, std::uint64_t offset,
                  std::uint64_t length) override;
  void unpin(LinkKey link, const PinnedRange& range) override;

  void refuse(Reason reason) { refusal_.store(reason); }
  int pinned() const { return pinned_.load(); }
  int asked() const { return asked_.load(); }

 private:
  std::atomic<Reason> refusal_{Reason::none};
  std::atomic<int> pinned_{0};
  std::atomic<int> asked_{0};
};

// The daemon of another host: answers READs in pieces, shuffled by a seed.
class ServingHost {
 public:
  ServingHost(const TcpOptions& options, std::uint64_t piece_bytes);
  ~ServingHost();
  ServingHost(const ServingHost&) = delete;
  ServingHost& operator=(const ServingHost&) = delete;

  OpenMemory& memory() { return memory_; }
  // Before start(): from then on the transport is the thread's.
  TcpTransport& transport() { return transport_; }
  void start();

 private:
  void serve();
  void answer(const TcpEvent& event);
  void post_pending();
  bool wait_for_news();

  OpenMemory memory_;
  TcpTransport transport_;
  const std::uint64_t piece_bytes_;
  std::mt19937 random_{20'260'730};
  std::deque<Chunk> pending_;
  std::uint32_t next_ordinal_ = 0;
  int stop_fd_;
  std::thread thread_;
};

// Both ends of a connection, encrypted or not.
struct Ends {
  int dialed = -1, accepted = -1;
  std::unique_ptr<ByteStream> dialed_stream, accepted_stream;  // null: not encrypted
};
Ends connected_ends(bool encrypted);

// A dialer and the host that serves it.
class TcpPair final : public Transport {
 public:
  TcpPair(const TcpOptions& options, std::uint64_t connections, std::uint64_t piece_bytes,
          bool encrypted = false);

  std::string_view name() const override { return dialer_.name(); }
  // Chunks of the rig: the remote range is made one of the other host's segment.
  PostOutcome post(std::span<const Chunk> chunks) override;
  std::size_t poll(std::span<Completion> completions) override;
  void cancel(ChunkId id) override { dialer_.cancel(id); }
  bool arm_wakeup() override { return dialer_.arm_wakeup(); }
  int wakeup_fd() const override { return dialer_.wakeup_fd(); }

  TcpTransport& dialer() { return dialer_; }

 private:
  ServingHost host_;
  OpenMemory own_memory_;
  TcpTransport dialer_;
};

// The same chunk with its remote range on another host.
Chunk over_the_network(Chunk chunk);

}  // namespace tentq::test
