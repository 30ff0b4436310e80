// See tcp_pair.h.
#include "tests/transports/tcp_pair.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "daemon/peers/tls_stream.h"
#include "tests/support/certificates.h"
#include "tests/support/loopback.h"

// ThreadSanitizer notes what a send reads when the call is over. Then the peer, which is in this
// process here, may have answered already, and the test writes there with good right.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "intercept_send=0";
}

namespace tentq::test {
namespace {

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace

std::pair<int, int> connected_sockets() {
  const int listener = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  checked(bind(listener, plain, sizeof address), "bind");
  checked(listen(listener, 1), "listen");
  checked(getsockname(listener, plain, &length), "getsockname");
  const int dialed = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  checked(connect(dialed, plain, sizeof address), "connect");
  const int accepted = checked(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
  close(listener);
  for (const int fd : {dialed, accepted}) checked(fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl");
  return {dialed, accepted};
}

PinnedRange OpenMemory::pin(LinkKey link, std::uint64_t segment, std::uint64_t offset,
                            std::uint64_t length) {
  ++asked_;
  EXPECT_EQ(link, kLink);
  EXPECT_NE(length, 0u);
  if (segment != kSegment) return {nullptr, Reason::unknown_segment, 0};
  if (const Reason refusal = refusal_.load(); refusal != Reason::none) {
    return {nullptr, refusal, 0};
  }
  ++pinned_;
  return {reinterpret_cast<std::byte*>(offset), Reason::none, offset};
}

void OpenMemory::unpin(LinkKey link, const PinnedRange& range) {
  EXPECT_EQ(link, kLink);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(range.mapped), range.token);
  EXPECT_GE(--pinned_, 0);
}

ServingHost::ServingHost(const TcpOptions& options, std::uint64_t piece_bytes)
    : transport_(&memory_, options),
      piece_bytes_(piece_bytes),
      stop_fd_(checked(eventfd(0, EFD_CLOEXEC), "eventfd")) {}

ServingHost::~ServingHost() {
  const std::uint64_t one = 1;
  EXPECT_EQ(write(stop_fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  if (thread_.joinable()) thread_.join();
  close(stop_fd_);
}

void ServingHost::start() {
  thread_ = std::thread([this] { serve(); });
}

void ServingHost::serve() {
  do {
    std::array<TcpEvent, 8> events;
    std::array<Completion, 16> completions;
    std::size_t count = 0;
    do {
      count = transport_.poll(completions);
      const std::size_t asked = transport_.poll_events(events);
      for (std::size_t i = 0; i < asked; ++i) answer(events[i]);
      count += asked;
      post_pending();
    } while (count != 0);
  } while (wait_for_news());
}

void ServingHost::answer(const TcpEvent& event) {
  if (event.kind != TcpEventKind::read_asked) return;
  if (event.segment != kSegment) {
    transport_.refuse_read(event.read, Reason::unknown_segment);
    return;
  }
  std::vector<Chunk> pieces;
  for (std::uint64_t at = 0; at < event.length; at += piece_bytes_) {
    Chunk chunk;
    chunk.id = {OwnerId{1, 1}, 1, next_ordinal_++};
    chunk.op = Op::write;
    chunk.answer = true;
    chunk.cls = event.cls;
    chunk.local.mapped = reinterpret_cast<std::byte*>(event.offset) + at;
    chunk.remote.offset = at;
    chunk.peer_handle = event.read;
    chunk.length = std::min(piece_bytes_, event.length - at);
    pieces.push_back(chunk);
  }
  std::shuffle(pieces.begin(), pieces.end(), random_);
  pending_.insert(pending_.end(), pieces.begin(), pieces.end());
}

void ServingHost::post_pending() {
  while (!pending_.empty() && transport_.post({&pending_.front(), 1}).accepted == 1) {
    pending_.pop_front();
  }
}

// False: it is to stop.
bool ServingHost::wait_for_news() {
  const bool may_sleep = transport_.arm_wakeup();
  std::array<pollfd, 2> fds = {{{stop_fd_, POLLIN, 0}, {transport_.wakeup_fd(), POLLIN, 0}}};
  while (poll(fds.data(), fds.size(), may_sleep ? -1 : 0) < 0 && errno == EINTR) {
  }
  return fds[0].revents == 0;
}

Ends connected_ends(bool encrypted) {
  const auto [dialed, accepted] = connected_sockets();
  Ends ends{dialed, accepted, nullptr, nullptr};
  if (!encrypted) return ends;
  static const std::shared_ptr<const TlsTerms> terms = [] {
    Authority authority("tentq tests");
    const CertificateFiles files = authority.issue("host");
    PeerSettings settings;
    settings.tls_ca_file = authority.file();
    settings.tls_certificate_file = files.certificate;
    settings.tls_key_file = files.key;
    std::string why;
    auto loaded = TlsTerms::load(settings, &why);
    if (!loaded) throw std::runtime_error(why);
    return loaded;
  }();
  auto near = std::make_unique<TlsStream>(terms, dialed, "localhost");
  auto far = std::make_unique<TlsStream>(terms, accepted, "");
  TlsStream::Step near_step{}, far_step{};
  do {
    near_step = near->shake_hands();
    far_step = far->shake_hands();
    if (near_step == TlsStream::Step::failed || far_step == TlsStream::Step::failed) {
      throw std::runtime_error(near->fault().text + far->fault().text);
    }
  } while (near_step != TlsStream::Step::done || far_step != TlsStream::Step::done);
  ends.dialed_stream = std::move(near);
  ends.accepted_stream = std::move(far);
  return ends;
}

TcpPair::TcpPair(const TcpOptions& options, std::uint64_t connections, std::uint64_t piece_bytes,
                 bool encrypted)
    : host_(TcpOptions{.threads = options.threads,
                       .conductor_receives = options.conductor_receives,
                       .checksum = options.checksum},
            piece_bytes),
      dialer_(&own_memory_, options) {
  for (std::uint64_t i = 1; i <= connections; ++i) {
    Ends ends = connected_ends(encrypted);
    host_.transport().add_connection(kLink, TcpSide::acceptor, i, ends.accepted,
                                     std::move(ends.accepted_stream));
    dialer_.add_connection(kLink, TcpSide::dialer, i, ends.dialed, std::move(ends.dialed_stream));
  }
  dialer_.bind_lane(LaneId(0), kLink);
  host_.start();
}

Chunk over_the_network(Chunk chunk) {
  const auto address = reinterpret_cast<std::uint64_t>(chunk.remote.mapped);
  chunk.remote = {RegionIndex{}, address, nullptr, false};
  chunk.peer_handle = kSegment;
  return chunk;
}

PostOutcome TcpPair::post(std::span<const Chunk> chunks) {
  std::vector<Chunk> sent;
  for (const Chunk& chunk : chunks) sent.push_back(over_the_network(chunk));
  return dialer_.post(sent);
}

std::size_t TcpPair::poll(std::span<Completion> completions) {
  std::array<TcpEvent, 4> events;
  const std::size_t count = dialer_.poll_events(events);
  for (std::size_t i = 0; i < count; ++i) {
    ADD_FAILURE() << "a connection was lost: " << to_string(events[i].why) << " "
                  << events[i].detail << " " << events[i].error;
  }
  return dialer_.poll(completions);
}

}  // namespace tentq::test
