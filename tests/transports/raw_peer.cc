// See raw_peer.h.
#include "tests/transports/raw_peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/transports/rig.h"

namespace tentq::test {
namespace {

// Of a socket in each direction that matters; together far below the tests' large chunks.
constexpr int kBufferBytes = 512 << 10;

constexpr int kLimitMs = 10'000;

TcpOptions with_receiver(TcpOptions options) {
  options.conductor_receives = kConductorReceives;
  return options;
}

}  // namespace

RawPeer::RawPeer(int fd, Conductor* other) : fd_(fd), other_(other) {
  // Messages go out as they are sent, and a peer that does not read is felt soon.
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
}

RawPeer::~RawPeer() {
  hang_up();
}

void RawPeer::wait(short events) {
  if (other_ != nullptr) return other_->turns_until(fd_, events);
  pollfd own = {fd_, events, 0};
  EXPECT_EQ(poll(&own, 1, kLimitMs), 1) << "what was waited for does not come";
}

void RawPeer::hang_up() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void RawPeer::send_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) {
      wait(POLLOUT);
      if (testing::Test::HasFailure()) return;
      continue;
    }
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
    const ssize_t received = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) {
      wait(POLLIN);
      if (testing::Test::HasFailure()) return;
      continue;
    }
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
    const ssize_t received = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) continue;
    if (received < 0 && errno == EAGAIN) {
      wait(POLLIN);
      if (testing::Test::HasFailure()) return false;
      continue;
    }
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

Conductor::Conductor(const TcpOptions& options) : transport(&memory, with_receiver(options)) {}

RawPeer Conductor::connect(TcpSide side, std::uint64_t connection, LinkKey link) {
  const auto [ours, theirs] = connected_sockets();
  setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  transport.add_connection(link, side, connection, ours);
  if (side == TcpSide::dialer && connection == 1) {
    transport.bind_lane(LaneId(static_cast<LaneId::rep>(link.value() - kLink.value())), link);
  }
  return RawPeer(theirs, this);
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

void Conductor::turns_until(int fd, short events) {
  while (true) {
    const bool came = poll_once() != 0;
    std::array<pollfd, 2> fds = {{{fd, events, 0}, {transport.wakeup_fd(), POLLIN, 0}}};
    const bool may_sleep = !came && transport.arm_wakeup();
    const int ready = poll(fds.data(), fds.size(), may_sleep ? kLimitMs : 0);
    if (fds[0].revents != 0) return;
    if (ready != 0 || !may_sleep) continue;
    ADD_FAILURE() << "what was waited for does not come";
    return;
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
