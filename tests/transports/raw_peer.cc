// See raw_peer.h.
#include "tests/transports/raw_peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

// Of a socket in each direction that matters; together far below the tests' large chunks.
constexpr int kBufferBytes = 512 << 10;

}  // namespace

RawPeer::RawPeer(int fd) : fd_(fd) {
  fcntl(fd_, F_SETFL, 0);
  const timeval limit = {10, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  // Messages go out as they are sent, and a peer that does not read is felt soon.
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
}

RawPeer::~RawPeer() {
  hang_up();
}

void RawPeer::hang_up() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void RawPeer::send_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(sent, 0) << errno;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

std::size_t RawPeer::send_what_fits(std::span<const std::byte> bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void RawPeer::receive_bytes(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t received = recv(fd_, bytes.data(), bytes.size(), 0);
    ASSERT_GT(received, 0) << errno;
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
}

bool RawPeer::hears_nothing() {
  std::byte byte;
  return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool RawPeer::sees_end() {
  std::array<std::byte, 4096> bytes;
  while (true) {
    const ssize_t received = recv(fd_, bytes.data(), bytes.size(), 0);
    if (received > 0) continue;
    return received == 0 || errno == ECONNRESET;
  }
}

void RawPeer::done(std::uint64_t number, Reason reason) {
  auto head = new_head<PeerDone>(number);
  head.reason = reason;
  send(head);
}

void RawPeer::data(std::uint64_t number, std::uint64_t offset, std::span<const std::byte> payload,
                   std::uint64_t queued_ns) {
  auto head = new_head<PeerData>(number);
  head.offset = offset;
  head.length = payload.size();
  head.queued_ns = queued_ns;
  send(head);
  send_bytes(payload);
}

void RawPeer::write(std::uint64_t number, const std::byte* to, std::uint64_t length,
                    std::uint64_t segment) {
  auto head = new_head<PeerWrite>(number);
  head.segment = segment;
  head.offset = reinterpret_cast<std::uint64_t>(to);
  head.length = length;
  send(head);
}

void RawPeer::read(std::uint64_t number, const std::byte* from, std::uint64_t length) {
  auto head = new_head<PeerRead>(number);
  head.segment = kSegment;
  head.cls = ClassId::standard;
  head.offset = reinterpret_cast<std::uint64_t>(from);
  head.length = length;
  send(head);
}

Conductor::Conductor(const TcpOptions& options) : transport(&memory, options) {}

RawPeer Conductor::connect(TcpSide side, std::uint64_t connection, LinkKey link) {
  const auto [ours, theirs] = connected_sockets();
  setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  transport.add_connection(link, side, connection, ours);
  if (side == TcpSide::dialer && connection == 1) {
    transport.bind_lane(LaneId(static_cast<LaneId::rep>(link.value() - kLink.value())), link);
  }
  return RawPeer(theirs);
}

Chunk Conductor::chunk(Op op, std::byte* local, std::byte* remote, std::uint64_t length) {
  Chunk chunk;
  chunk.id = {OwnerId{1, 1}, 1, next_ordinal_++};
  chunk.op = op;
  chunk.lane = LaneId(0);
  chunk.local.mapped = local;
  chunk.remote.mapped = remote;
  chunk.length = length;
  return over_the_network(chunk);
}

Chunk Conductor::answer(std::uint64_t read, std::byte* local, std::uint64_t offset,
                        std::uint64_t length) {
  Chunk chunk;
  chunk.id = {OwnerId{1, 1}, 1, next_ordinal_++};
  chunk.op = Op::write;
  chunk.answer = true;
  chunk.local.mapped = local + offset;
  chunk.remote.offset = offset;
  chunk.peer_handle = read;
  chunk.length = length;
  return chunk;
}

void Conductor::post(const Chunk& chunk) {
  ASSERT_EQ(transport.post({&chunk, 1}).accepted, 1u);
}

std::size_t Conductor::poll_once() {
  std::array<Completion, 8> completions;
  std::array<TcpEvent, 8> events;
  const std::size_t count = transport.poll(completions);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(completions_.emplace(completions[i].id, completions[i]).second)
        << "a chunk ended twice";
  }
  const std::size_t reported = transport.poll_events(events);
  events_.insert(events_.end(), events.begin(), events.begin() + reported);
  return count + reported;
}

bool Conductor::run_until(const std::function<bool()>& holds) {
  while (true) {
    const std::size_t came = poll_once();
    if (holds()) return true;
    if (came != 0 || !transport.arm_wakeup()) continue;
    if (!becomes_readable(transport.wakeup_fd())) {
      ADD_FAILURE() << "what was waited for does not come";
      return false;
    }
  }
}

TcpEvent Conductor::next_event() {
  if (!run_until([&] { return !events_.empty(); })) return {};
  const TcpEvent event = events_.front();
  events_.pop_front();
  return event;
}

Completion Conductor::completion(const Chunk& chunk) const {
  const auto found = completions_.find(chunk.id);
  return found == completions_.end() ? Completion{} : found->second;
}

void Conductor::settle_down() {
  // A connection that nobody knows is answered at once, so ask one that has a thread: commands are
  // carried out in their order.
  const auto [ours, theirs] = connected_sockets();
  const RawPeer other(theirs);
  const LinkKey link(1000 + next_ordinal_++);
  transport.add_connection(link, TcpSide::acceptor, 1, ours);
  transport.close_connection(link, 1);
  EXPECT_TRUE(run_until([&] {
    return std::any_of(events_.begin(), events_.end(),
                       [&](const TcpEvent& event) { return event.link == link; });
  }));
  std::erase_if(events_, [&](const TcpEvent& event) { return event.link == link; });
}

}  // namespace tentq::test
