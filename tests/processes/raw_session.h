// A client that speaks the protocol itself, without the library, so that a test can break it: raw
// packets on the socket, and the session's memory writable by hand. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/control.h"
#include "shm/fd.h"
#include "shm/session_memory.h"

namespace tentq::test {

// A HELLO that the daemon accepts.
Hello proper_hello(const std::string& name);

class RawConnection {
 public:
  // Throws std::runtime_error when nobody listens.
  explicit RawConnection(const std::string& socket);

  int fd() const { return socket_.get(); }
  // False once the daemon has closed.
  template <class Message>
  bool send(const Message& message, std::span<const int> fds = {}) {
    return send_bytes(std::as_bytes(std::span(&message, 1)), fds);
  }
  bool send_bytes(std::span<const std::byte> bytes, std::span<const int> fds = {});
  // The next message of this type, others are skipped; nullopt when the daemon closed or nothing
  // came in time. Fds are kept in received_fds.
  template <class Message>
  std::optional<Message> receive(std::chrono::milliseconds most = std::chrono::seconds{10}) {
    Message message;
    const auto bytes = std::as_writable_bytes(std::span(&message, 1));
    if (!receive_type(Message::kType, bytes, most)) return std::nullopt;
    return message;
  }
  // Whether the daemon closes the connection in time.
  bool closes(std::chrono::milliseconds most);

  std::vector<shm::Fd> received_fds;

 private:
  bool receive_type(MessageType type, std::span<std::byte> message, std::chrono::milliseconds most);

  shm::Fd socket_;
};

// Attached, with REQ and STA mapped. Throws std::runtime_error when it is refused.
class RawSession {
 public:
  RawSession(const std::string& socket, const Hello& hello, bool say_mapped = true);

  RawConnection& connection() { return connection_; }
  const shm::SessionView& view() const { return memory_.view; }
  std::span<std::byte> req() { return memory_.req.bytes(); }
  const Welcome& welcome() const { return welcome_; }
  int req_fd() const { return connection_.received_fds[0].get(); }
  int sta_fd() const { return connection_.received_fds[1].get(); }
  int doorbell_fd() const { return connection_.received_fds[2].get(); }
  int completion_fd() const { return connection_.received_fds[3].get(); }

  // Writes the cells as they are at the tail of the class, publishes them and rings.
  void publish(ClassId cls, std::span<const CellBody> cells);
  void ring();
  // Registers `size` bytes at `base` of an own segment; the region's id, 0 when refused.
  std::uint32_t register_memory(int fd, std::uint64_t base, std::uint64_t size);
  std::uint32_t open_segment(const std::string& name);

 private:
  RawConnection connection_;
  Welcome welcome_;
  shm::MappedSessionMemory memory_;
};

}  // namespace tentq::test
