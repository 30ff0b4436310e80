// Packets and cells by hand.
#include "tests/processes/raw_session.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>

#include "proto/version.h"
#include "shm/packet_socket.h"

namespace tentq::test {

using Clock = std::chrono::steady_clock;

Hello proper_hello(const std::string& name) {
  auto hello = make_message<Hello>(1);
  hello.major = kProtocolMajor;
  hello.minor = kProtocolMinor;
  hello.layout_hash = kLayoutHash;
  hello.incarnation = std::random_device{}() + std::uint64_t{1};
  hello.pid = static_cast<std::uint32_t>(::getpid());
  hello.name.assign(name);
  return hello;
}

RawConnection::RawConnection(const std::string& socket) {
  int error = 0;
  socket_ = shm::connect_to(socket, std::chrono::seconds{10}, &error);
  if (!socket_.valid()) throw std::runtime_error(socket + ": " + std::strerror(error));
}

bool RawConnection::send_bytes(std::span<const std::byte> bytes, std::span<const int> fds) {
  for (;;) {
    const int error = shm::send_packet(socket_.get(), bytes, fds);
    if (error != EAGAIN && error != EINTR) return error == 0;
    pollfd entry{socket_.get(), POLLOUT, 0};
    if (::poll(&entry, 1, 10'000) <= 0) return false;
  }
}

bool RawConnection::receive_type(MessageType type, std::span<std::byte> message,
                                 std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  std::vector<std::byte> buffer(kLargestMessage);
  for (;;) {
    shm::ReceivedPacket packet;
    const int error = shm::receive_packet(socket_.get(), buffer, &packet);
    if (error == EAGAIN) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0 || shm::wait_readable(socket_.get(), left) == ETIMEDOUT) return false;
      continue;
    }
    if (error != 0 || packet.bytes < sizeof(ControlHeader)) return false;
    ControlHeader header;
    std::memcpy(&header, buffer.data(), sizeof header);
    for (std::size_t i = 0; i < packet.fd_count; ++i) {
      received_fds.push_back(std::move(packet.fds[i]));
    }
    if (header.type != type || packet.bytes != message.size()) continue;
    std::memcpy(message.data(), buffer.data(), message.size());
    return true;
  }
}

bool RawConnection::closes(std::chrono::milliseconds most) {
  std::byte nothing[sizeof(ControlHeader)];
  const auto until = Clock::now() + most;
  (void)receive_type(MessageType{0}, nothing, most);  // reads what comes, to the end
  char byte = 0;
  const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return Clock::now() < until && (got == 0 || (got < 0 && errno != EAGAIN));
}

RawSession::RawSession(const std::string& socket, const Hello& hello, bool say_mapped)
    : connection_(socket) {
  connection_.send(hello);
  const auto welcome = connection_.receive<Welcome>();
  if (!welcome || connection_.received_fds.size() < kWelcomeFds) {
    throw std::runtime_error("no WELCOME");
  }
  welcome_ = *welcome;
  if (shm::map_session_memory(req_fd(), sta_fd(), welcome_.sizes, &memory_) != 0) {
    throw std::runtime_error("the session's memory cannot be mapped");
  }
  if (say_mapped) connection_.send(make_message<Mapped>());
}

void RawSession::publish(ClassId cls, std::span<const CellBody> cells) {
  const shm::SessionView& session = view();
  std::atomic<std::uint64_t>& tail = session.req()->tails[index_of(cls)].value;
  const std::uint64_t first = tail.fetch_add(cells.size());
  Cell* ring_cells = session.ring(cls);
  const std::uint64_t mask = welcome_.sizes.ring_cells - 1;
  for (std::size_t i = cells.size(); i-- > 0;) {
    Cell& cell = ring_cells[(first + i) & mask];
    cell.body = cells[i];
    cell.seq.store(first + i + 1, std::memory_order_release);
  }
  ring();
}

void RawSession::ring() {
  view().req()->published.value.fetch_add(1);
  const std::uint64_t one = 1;
  (void)!::write(doorbell_fd(), &one, sizeof one);
}

std::uint32_t RawSession::register_memory(int fd, std::uint64_t base, std::uint64_t size) {
  auto message = make_message<RegisterRegion>(2);
  message.base = base;
  message.size = size;
  message.host_access = RegionAccess::read_write;
  connection_.send(message, std::span(&fd, 1));
  const auto reply = connection_.receive<RegionReply>();
  return reply && reply->status == StatusCode::ok ? reply->region : 0;
}

std::uint32_t RawSession::open_segment(const std::string& name) {
  auto message = make_message<OpenSegment>(3);
  message.name.assign(name);
  connection_.send(message);
  const auto reply = connection_.receive<SegmentReply>();
  return reply && reply->status == StatusCode::ok ? reply->segment : 0;
}

}  // namespace tentq::test
