// Unix packet sockets: fds beside packets, truncation, full buffers, stale sockets, distinct
// errors.
#include "shm/packet_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "proto/control.h"

namespace tentq::shm {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{20'000};

std::size_t open_fds() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class PacketSocket : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    a_.reset(ends[0]);
    b_.reset(ends[1]);
    char name[] = "/tmp/tentq-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/d.sock";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::span<const std::byte> text(const char* bytes) {
    return std::as_bytes(std::span(bytes, std::strlen(bytes)));
  }
  Fd a_, b_;
  std::string directory_, path_;
  std::array<std::byte, 256> buffer_{};
  ReceivedPacket packet_;
};

TEST_F(PacketSocket, PacketsKeepTheirBordersAndOrder) {
  ASSERT_EQ(send_packet(a_.get(), text("one")), 0);
  ASSERT_EQ(send_packet(a_.get(), text("three")), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 3u);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 5u);
  EXPECT_EQ(std::memcmp(buffer_.data(), "three", 5), 0);
  EXPECT_FALSE(packet_.truncated);
  EXPECT_EQ(packet_.fd_count, 0u);
}

TEST_F(PacketSocket, NothingThereIsEagainAlsoOnABlockingSocket) {
  EXPECT_EQ(receive_packet(b_.get(), buffer_, &packet_), EAGAIN);
  EXPECT_EQ(wait_readable(b_.get(), milliseconds(1)), ETIMEDOUT);
  EXPECT_EQ(wait_readable(b_.get(), milliseconds(-1)), ETIMEDOUT);
  ASSERT_EQ(send_packet(a_.get(), text("x")), 0);
  EXPECT_EQ(wait_readable(b_.get(), milliseconds(0)), 0);
}

TEST_F(PacketSocket, FullBufferIsEagainAndLosesNothing) {
  int sent = 0;
  while (send_packet(a_.get(), text("packet")) == 0) ++sent;
  EXPECT_EQ(send_packet(a_.get(), text("packet")), EAGAIN);
  EXPECT_GT(sent, 1);
  int received = 0;
  while (receive_packet(b_.get(), buffer_, &packet_) == 0) ++received;
  EXPECT_EQ(received, sent);
}

TEST_F(PacketSocket, ClosedEndReadsAsZeroAfterWhatWasSentBefore) {
  ASSERT_EQ(send_packet(a_.get(), text("bye")), 0);
  a_.reset();
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 3u);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 0u);
  EXPECT_EQ(send_packet(b_.get(), text("x")), EPIPE);  // and no SIGPIPE
}

TEST_F(PacketSocket, EndClosedWithUnreadPacketsStillDeliversItsLastOnes) {
  ASSERT_EQ(send_packet(b_.get(), text("never read")), 0);
  ASSERT_EQ(send_packet(a_.get(), text("bye")), 0);
  a_.reset();
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 3u);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 0u);
}

TEST_F(PacketSocket, LongPacketIsMarkedTruncated) {
  std::array<std::byte, 300> bytes{};
  ASSERT_EQ(send_packet(a_.get(), bytes), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_TRUE(packet_.truncated);
  EXPECT_EQ(packet_.bytes, buffer_.size());
}

TEST_F(PacketSocket, FdsArriveInOrderAndCloseOnExec) {
  std::array<Fd, kMaxPacketFds> files;
  std::array<int, kMaxPacketFds> raw{};
  for (std::size_t i = 0; i < kMaxPacketFds; ++i) {
    files[i] = Fd(::memfd_create("t", MFD_CLOEXEC));
    raw[i] = files[i].get();
    ASSERT_EQ(::ftruncate(raw[i], static_cast<off_t>(i + 1)), 0);
  }
  ASSERT_EQ(send_packet(a_.get(), text("fds"), raw), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  ASSERT_EQ(packet_.fd_count, kMaxPacketFds);
  for (std::size_t i = 0; i < kMaxPacketFds; ++i) {
    struct stat facts {};
    ASSERT_EQ(::fstat(packet_.fds[i].get(), &facts), 0);
    EXPECT_EQ(facts.st_size, static_cast<off_t>(i + 1));
    EXPECT_EQ(::fcntl(packet_.fds[i].get(), F_GETFD), FD_CLOEXEC);
  }
}

// Sends `count` copies of one fd past our own limit, as a hostile client would.
void send_many_fds(int socket, int fd, std::size_t count) {
  std::vector<int> fds(count, fd);
  std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(head), fds.data(), count * sizeof(int));
  ASSERT_EQ(::sendmsg(socket, &message, 0), 1);
}

TEST_F(PacketSocket, SurplusFdsAreClosed) {
  const Fd file(::memfd_create("t", MFD_CLOEXEC));
  const std::size_t before = open_fds();
  for (const std::size_t count : {5u, 6u, 100u, 253u}) {
    send_many_fds(a_.get(), file.get(), count);
    ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
    EXPECT_TRUE(packet_.truncated) << count;
    EXPECT_LE(packet_.fd_count, kMaxPacketFds);
    EXPECT_EQ(open_fds(), before + packet_.fd_count) << count;
    packet_ = ReceivedPacket{};
    EXPECT_EQ(open_fds(), before);
  }
  std::array<int, kMaxPacketFds + 1> raw{};
  raw.fill(file.get());
  EXPECT_EQ(send_packet(a_.get(), text("x"), raw), EINVAL);
}

TEST_F(PacketSocket, FdsBesideAnEmptyPacketDoNotLeak) {
  const Fd file(::memfd_create("t", MFD_CLOEXEC));
  const int raw[] = {file.get()};
  const std::size_t before = open_fds();
  ASSERT_EQ(send_packet(a_.get(), {}, raw), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 0u);
  packet_ = ReceivedPacket{};
  EXPECT_EQ(open_fds(), before);
}

TEST_F(PacketSocket, TypedMessageHasTheSizeOfItsStruct) {
  ASSERT_EQ(send_message(a_.get(), make_message<Mapped>(7)), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  ASSERT_EQ(packet_.bytes, sizeof(Mapped));
  ControlHeader header;
  std::memcpy(&header, buffer_.data(), sizeof header);
  EXPECT_EQ(header.type, MessageType::mapped);
  EXPECT_EQ(header.bytes, sizeof(Mapped));
  EXPECT_EQ(header.request, 7u);
}

TEST_F(PacketSocket, ListensConnectsAndNamesThePeer) {
  int error = -1;
  const Fd listener = listen_at(path_, 0660, -1, &error);
  ASSERT_EQ(error, 0);
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0660u);
  const Fd client = connect_to(path_, milliseconds(100), &error);
  ASSERT_EQ(error, 0);
  ASSERT_EQ(wait_readable(listener.get(), kPatience), 0);
  const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(server.valid());
  PeerCredentials peer;
  ASSERT_EQ(peer_credentials(server.get(), &peer), 0);
  EXPECT_EQ(peer.pid, ::getpid());
  EXPECT_EQ(peer.uid, ::geteuid());
  EXPECT_EQ(peer.gid, ::getegid());
  std::vector<gid_t> groups(64);
  groups.resize(static_cast<std::size_t>(::getgroups(64, groups.data())));
  EXPECT_EQ(peer.groups, groups);
  ASSERT_EQ(send_packet(client.get(), text("hi")), 0);
  ASSERT_EQ(receive_packet(server.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 2u);
}

TEST_F(PacketSocket, StaleSocketIsReplacedAndNothingIsLeftBesideIt) {
  int error = -1;
  { const Fd dead = listen_at(path_, 0600, -1, &error); }
  EXPECT_FALSE(connect_to(path_, milliseconds(1), &error).valid());
  EXPECT_EQ(error, ECONNREFUSED);
  const Fd listener = listen_at(path_, 0600, -1, &error);
  ASSERT_EQ(error, 0);
  EXPECT_TRUE(connect_to(path_, milliseconds(100), &error).valid());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(PacketSocket, FileThatIsNoSocketIsNeverReplaced) {
  std::ofstream(path_) << "precious";
  int error = 0;
  EXPECT_FALSE(listen_at(path_, 0600, -1, &error).valid());
  EXPECT_EQ(error, EEXIST);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(PacketSocket, MissingForbiddenAndImpossiblePathsAreDistinct) {
  int error = 0;
  EXPECT_FALSE(connect_to(path_, milliseconds(1), &error).valid());
  EXPECT_EQ(error, ENOENT);
  EXPECT_FALSE(connect_to(std::string(200, 'x'), milliseconds(1), &error).valid());
  EXPECT_EQ(error, ENAMETOOLONG);
  EXPECT_FALSE(connect_to("", milliseconds(1), &error).valid());
  EXPECT_EQ(error, ENAMETOOLONG);
  EXPECT_FALSE(listen_at(std::string(200, 'x'), 0600, -1, &error).valid());
  EXPECT_EQ(error, ENAMETOOLONG);
  EXPECT_FALSE(listen_at(directory_ + "/no/d.sock", 0600, -1, &error).valid());
  EXPECT_EQ(error, ENOENT);
  const Fd listener = listen_at(path_, 0, -1, &error);
  ASSERT_EQ(error, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0) {
      if (::chmod(directory_.c_str(), 0755) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) {
        ::_exit(77);
      }
    }
    int refused = 0;
    const bool connected = connect_to(path_, milliseconds(1), &refused).valid();
    ::_exit(!connected && refused == EACCES ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot become another user here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PacketSocket, FullBacklogTimesOutAndZeroDoesNotMeanForEver) {
  int error = -1;
  const Fd listener = listen_at(path_, 0600, -1, &error);
  ASSERT_EQ(error, 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  std::vector<Fd> clients;
  for (int i = 0; i < 300 && error == 0; ++i) {
    clients.push_back(connect_to(path_, milliseconds(0), &error));
  }
  EXPECT_EQ(error, ETIMEDOUT);
  EXPECT_FALSE(connect_to(path_, milliseconds(2), &error).valid());
  EXPECT_EQ(error, ETIMEDOUT);
}

TEST_F(PacketSocket, DeathOfTheOtherProcessReadsAsClosed) {
  const pid_t child = ::fork();
  if (child == 0) {
    b_.reset();
    send_packet(a_.get(), text("alive"));
    ::raise(SIGKILL);
  }
  a_.reset();
  ASSERT_EQ(wait_readable(b_.get(), kPatience), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 5u);
  ASSERT_EQ(wait_readable(b_.get(), kPatience), 0);
  ASSERT_EQ(receive_packet(b_.get(), buffer_, &packet_), 0);
  EXPECT_EQ(packet_.bytes, 0u);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace tentq::shm
