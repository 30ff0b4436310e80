// The handshake with a daemon. See attach.h.
#include "client/attach.h"

#include <errno.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "proto/version.h"
#include "shm/packet_socket.h"

namespace tentq::lib {

namespace {

constexpr std::chrono::milliseconds kSlice{50};

std::string error_text(int error) {
  return std::strerror(error);
}

// Who may open the socket, as far as this process can see.
std::string owner_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  std::string group = std::to_string(facts.st_gid);
  char buffer[1024];
  struct group entry {};
  struct group* found = nullptr;
  if (::getgrgid_r(facts.st_gid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    group = std::string("'") + found->gr_name + "'";
  }
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(facts.st_mode & 07777));
  return "; it belongs to group " + group + " with mode " + mode +
         ", so this process must be in that group";
}

Status connect_failure(const std::string& path, int error) {
  if (error == ENOENT) {
    return {Code::daemon_gone,
            "there is no socket at " + path + ": tentqd does not run, or listens elsewhere"};
  }
  if (error == ECONNREFUSED) {
    return {Code::daemon_gone, "nobody listens at " + path + ": tentqd has ended"};
  }
  if (error == EACCES || error == EPERM) {
    return {Code::not_permitted, "no permission to open " + path + owner_of(path)};
  }
  if (error == ENAMETOOLONG || error == EINVAL) {
    return {Code::invalid_argument, "not a socket path: " + path};
  }
  if (error == EMFILE || error == ENFILE) {
    return {Code::exhausted, "no file descriptor left to open " + path};
  }
  return {Code::daemon_gone, "cannot connect to " + path + ": " + error_text(error)};
}

std::string version_text(std::uint16_t major, std::uint16_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

Status incompatible(std::uint16_t major, std::uint16_t minor, const std::string& version) {
  return {Code::incompatible, "this library speaks protocol " +
                                  version_text(kProtocolMajor, kProtocolMinor) + " (tentq " +
                                  kProductVersion + "), the daemon protocol " +
                                  version_text(major, minor) + " (tentqd " + version + ")"};
}

struct Reply {
  alignas(8) std::array<std::byte, kLargestMessage> bytes;
  shm::ReceivedPacket packet;
};

// Waits for the first packet.
Status receive_reply(int socket, const AttachRequest& request, Reply* reply) {
  for (;;) {
    const int error = shm::receive_packet(socket, reply->bytes, &reply->packet);
    if (error == 0 && reply->packet.bytes > 0) return {};
    if (error != EAGAIN && error != EINTR) {
      return {Code::daemon_gone, "the daemon at " + request.path + " closed the connection"};
    }
    if (request.stop != nullptr && request.stop->load(std::memory_order_relaxed)) {
      return {Code::daemon_gone, "this client was closed"};
    }
    if (Clock::now() >= request.until) {
      return {Code::daemon_gone, "the daemon at " + request.path + " does not answer"};
    }
    const int waited = shm::wait_readable(socket, kSlice);
    (void)waited;  // what happened is found by receiving
  }
}

// The WELCOME in the reply, or why there is none.
Result<Welcome> read_welcome(const Reply& reply) {
  ControlHeader header;
  std::memcpy(&header, reply.bytes.data(), sizeof header);
  const std::size_t bytes = reply.packet.bytes;
  if (header.type == MessageType::refused && bytes == sizeof(Refused)) {
    Refused refused;
    std::memcpy(&refused, reply.bytes.data(), sizeof refused);
    const auto code = static_cast<std::uint16_t>(refused.status);
    const bool known = code != 0 && code < kStatusCodeCount;
    return Status(known ? static_cast<Code>(refused.status) : Code::internal_error,
                  std::string(refused.text.view()));
  }
  if (header.type != MessageType::welcome || bytes < kLeastWelcomeBytes) {
    return Status(Code::incompatible, "the daemon's answer is not one of protocol " +
                                          version_text(kProtocolMajor, kProtocolMinor) +
                                          " (tentq " + kProductVersion + ")");
  }
  Welcome welcome;
  // An older daemon's is shorter: what it does not say stays 0.
  std::memcpy(&welcome, reply.bytes.data(), std::min(bytes, sizeof welcome));
  if (welcome.major != kProtocolMajor) {
    return incompatible(welcome.major, welcome.minor, std::string(welcome.version.view()));
  }
  const SessionSizes& sizes = welcome.sizes;
  const bool power = sizes.ring_cells != 0 && (sizes.ring_cells & (sizes.ring_cells - 1)) == 0;
  if (!power || sizes.ring_reserved >= sizes.ring_cells || sizes.ring_cells > 65'536 / 2 ||
      sizes.slots == 0 || sizes.slots > 65'536 || (sizes.class_mask & ~kClientClassMask) != 0) {
    return Status(Code::incompatible, "the daemon offers sizes that this library cannot use");
  }
  if (!welcome.quota.terminated()) welcome.quota.assign("?");
  if (sizes.class_mask == 0) {
    return Status(Code::not_permitted, "the daemon grants none of the classes asked for");
  }
  return welcome;
}

Status map_failure(int error) {
  if (error == ENOMEM || error == ENOSPC) {
    return {Code::exhausted, "no memory to map the session's areas: " + error_text(error)};
  }
  return {Code::incompatible, "the session's areas are not as they must be: " + error_text(error)};
}

shm::Fd open_own_pidfd() {
#ifdef SYS_pidfd_open
  return shm::Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
#else
  return {};
#endif
}

Status say_hello(int socket, const AttachRequest& request) {
  Hello hello = request.hello;
  hello.header = make_message<Hello>(1).header;
  const shm::Fd pidfd = open_own_pidfd();
  const int fd = pidfd.get();
  const std::span<const int> fds(&fd, pidfd.valid() ? 1 : 0);
  const int error = shm::send_message(socket, hello, fds);
  if (error == 0) return {};
  return {Code::daemon_gone,
          "the daemon at " + request.path + " closed the connection: " + error_text(error)};
}

}  // namespace

Hello make_hello(std::string_view name, std::uint64_t incarnation, std::uint32_t class_mask) {
  Hello hello;
  hello.major = kProtocolMajor;
  hello.minor = kProtocolMinor;
  hello.class_mask = class_mask;
  hello.layout_hash = kLayoutHash;
  hello.incarnation = incarnation;
  hello.pid = static_cast<std::uint32_t>(::getpid());
  hello.name.assign(name);
  return hello;
}

Result<std::unique_ptr<Session>> attach(const AttachRequest& request, ControlSink* sink) {
  int error = 0;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(time_left(request.until));
  shm::Fd socket =
      shm::connect_to(request.path, std::max(left, std::chrono::milliseconds{1}), &error);
  if (!socket.valid()) return connect_failure(request.path, error);
  if (Status said = say_hello(socket.get(), request); !said.ok()) return said;
  Reply reply;
  if (Status got = receive_reply(socket.get(), request, &reply); !got.ok()) return got;
  Result<Welcome> welcome = read_welcome(reply);
  if (!welcome.ok()) return welcome.status();
  if (reply.packet.fd_count != kWelcomeFds) {
    return Status(Code::exhausted,
                  "the session's file descriptors did not arrive; this process may hold too many");
  }
  shm::MappedSessionMemory memory;
  auto& fds = reply.packet.fds;
  error = shm::map_session_memory(fds[0].get(), fds[1].get(), welcome->sizes, &memory);
  if (error != 0) return map_failure(error);
  if (memory.view.sta()->magic != kStaMagic || memory.view.sta()->layout_hash != kLayoutHash) {
    return incompatible(welcome->major, welcome->minor, std::string(welcome->version.view()));
  }
  if (shm::send_message(socket.get(), make_message<Mapped>()) != 0) {
    return Status(Code::daemon_gone, "the daemon at " + request.path + " closed the connection");
  }
  return std::make_unique<Session>(
      *welcome, std::move(memory),
      SessionFds{std::move(socket), std::move(fds[2]), std::move(fds[3])}, sink);
}

}  // namespace tentq::lib
