// One packet out, one packet back; the document comes as a memfd beside it.
#include "tests/support/query.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "shm/packet_socket.h"

namespace tentq::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kRequest = 1;
constexpr std::uint64_t kMostDocumentBytes = std::uint64_t{256} << 20;

[[noreturn]] void fail(const std::string& socket, const std::string& what) {
  throw std::runtime_error(socket + ": " + what);
}

std::chrono::milliseconds until_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  return std::max(left, std::chrono::milliseconds{0});
}

// Sends `message` and waits for a Reply; packets of other types are skipped.
template <class Reply, class Message>
Reply exchange(const std::string& path, const Message& message, std::chrono::milliseconds most,
               shm::Fd* document) {
  const auto until = Clock::now() + most;
  int error = 0;
  const shm::Fd socket = shm::connect_to(path, most, &error);
  if (!socket.valid()) fail(path, std::string("cannot connect: ") + std::strerror(error));
  error = shm::send_message(socket.get(), message);
  if (error != 0) fail(path, std::string("cannot send: ") + std::strerror(error));
  std::vector<std::byte> buffer(kLargestMessage);
  for (;;) {
    shm::ReceivedPacket packet;
    error = shm::receive_packet(socket.get(), buffer, &packet);
    if (error == EAGAIN) {
      error = shm::wait_readable(socket.get(), until_ms(until));
      if (error != 0 && error != EINTR) {
        fail(path, std::string("no answer: ") + std::strerror(error));
      }
      continue;
    }
    if (error != 0) fail(path, std::string("cannot receive: ") + std::strerror(error));
    if (packet.bytes == 0) fail(path, "closed without an answer");
    ControlHeader header;
    if (packet.bytes < sizeof(header)) fail(path, "a packet without a header");
    std::memcpy(&header, buffer.data(), sizeof(header));
    if (header.type == MessageType::refused && packet.bytes == sizeof(Refused)) {
      Refused refused;
      std::memcpy(&refused, buffer.data(), sizeof(refused));
      fail(path, "refused: " + std::string(refused.text.view()));
    }
    if (header.type != Reply::kType || header.request != kRequest) continue;
    if (packet.bytes != sizeof(Reply)) fail(path, "an answer of the wrong size");
    Reply reply;
    std::memcpy(&reply, buffer.data(), sizeof(reply));
    if (packet.fd_count > 0 && document != nullptr) *document = std::move(packet.fds[0]);
    return reply;
  }
}

std::string read_document(const std::string& path, int fd, std::uint64_t bytes) {
  if (bytes > kMostDocumentBytes) fail(path, "the document is too large");
  std::string text(bytes, '\0');
  std::uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, text.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(path, "the document is shorter than said");
    done += static_cast<std::uint64_t>(got);
  }
  return text;
}

}  // namespace

nlohmann::json query(const std::string& socket, QueryKind kind, const std::string& argument,
                     std::chrono::milliseconds most) {
  auto message = make_message<Query>(kRequest);
  message.kind = kind;
  message.argument.assign(argument);
  shm::Fd document;
  const auto reply = exchange<QueryReply>(socket, message, most, &document);
  if (reply.status != StatusCode::ok) {
    fail(socket, std::string(to_string(reply.status)) + ": " + std::string(reply.text.view()));
  }
  if (!document.valid()) fail(socket, "an answer without a document");
  return nlohmann::json::parse(read_document(socket, document.get(), reply.document_bytes));
}

std::string command(const std::string& admin_socket, CommandKind kind, const std::string& argument,
                    std::chrono::milliseconds most) {
  auto message = make_message<Command>(kRequest);
  message.kind = kind;
  message.argument.assign(argument);
  const auto reply = exchange<CommandReply>(admin_socket, message, most, nullptr);
  if (reply.status != StatusCode::ok) {
    fail(admin_socket,
         std::string(to_string(reply.status)) + ": " + std::string(reply.text.view()));
  }
  return std::string(reply.text.view());
}

}  // namespace tentq::test
