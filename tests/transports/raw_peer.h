// The other side of a data connection, played by the test byte by byte; and a conductor that drives
// the transport under test. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "tests/transports/tcp_pair.h"
#include "transports/tcp/heads.h"

namespace tentq::test {

class Conductor;

// Whether the transports under test receive on the conductor what is little; one program of tests
// for each.
extern const bool kConductorReceives;

class RawPeer {
 public:
  // Takes the socket over. While it waits, at most ten seconds, the other side's conductor has its
  // turns; null: it needs none.
  explicit RawPeer(int fd, Conductor* other = nullptr);
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  template <class Head>
  void send(const Head& head) {
    send_bytes(std::as_bytes(std::span(&head, 1)));
  }
  // A test failure when the other side does not take them.
  void send_bytes(std::span<const std::byte> bytes);
  // So many as the socket takes now.
  std::size_t send_what_fits(std::span<const std::byte> bytes);

  // A test failure when it does not come.
  template <class Head>
  Head receive() {
    Head head;
    receive_bytes(std::as_writable_bytes(std::span(&head, 1)));
    return head;
  }
  void receive_bytes(std::span<std::byte> bytes);
  // Whether nothing lies ready.
  bool hears_nothing();
  // Reads on until the other side has closed or reset; false if it does not.
  bool sees_end();
  void hang_up();

  void done(std::uint64_t number, Reason reason = Reason::none);
  // A DATA with its payload.
  void data(std::uint64_t number, std::uint64_t offset, std::span<const std::byte> payload,
            std::uint64_t queued_ns = 0);
  void write(std::uint64_t number, const std::byte* to, std::uint64_t length,
             std::uint64_t segment = kSegment);
  void read(std::uint64_t number, const std::byte* from, std::uint64_t length);

 private:
  void wait(short events);

  int fd_;
  Conductor* other_;
};

// A conductor with one transport.
class Conductor {
 public:
  explicit Conductor(const TcpOptions& options = {});

  // A connection of kLink, whose other end is returned. The first dialled one gets lane 0.
  RawPeer connect(TcpSide side, std::uint64_t connection = 1, LinkKey link = kLink);

  Chunk chunk(Op op, std::byte* local, std::byte* remote, std::uint64_t length);
  Chunk answer(std::uint64_t read, std::byte* local, std::uint64_t offset, std::uint64_t length);
  void post(const Chunk& chunk);

  // Polls and sleeps until it holds; a test failure after ten seconds.
  bool run_until(const std::function<bool()>& holds);
  bool run_until_ended(const Chunk& chunk) {
    return run_until([&] { return ended(chunk); });
  }
  TcpEvent next_event();
  // Has turns until nothing is left to do or the fd has one of the events; a test failure after ten
  // seconds.
  void turns_until(int fd, short events);

  bool ended(const Chunk& chunk) const { return completions_.contains(chunk.id); }
  Completion completion(const Chunk& chunk) const;

  // Everything that the transport's threads were told is done, and polled.
  void settle_down();

  OpenMemory memory;
  TcpTransport transport;

 private:
  std::size_t poll_once();

  std::map<ChunkId, Completion> completions_;
  std::deque<TcpEvent> events_;
  std::uint32_t next_ordinal_ = 0;
};

}  // namespace tentq::test
