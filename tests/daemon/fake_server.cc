// Speaks just as much of proto/control.h as tentqctl does.
#include "tests/daemon/fake_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "shm/packet_socket.h"

namespace tentq::test {

FakeServer::FakeServer(const std::string& path, OnQuery on_query, OnCommand on_command)
    : on_query_(std::move(on_query)),
      on_command_(std::move(on_command)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  int error = 0;
  listener_ = shm::listen_at(path, 0600, -1, &error);
  if (!listener_.valid()) throw std::runtime_error("cannot listen at " + path);
  thread_ = std::thread([this] { run(); });
}

FakeServer::~FakeServer() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void FakeServer::run() {
  for (;;) {
    pollfd wanted[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(wanted, 2, -1);
    if (wanted[1].revents != 0) return;
    const shm::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.valid()) serve(socket.get());
  }
}

void FakeServer::serve(int socket) {
  alignas(8) std::array<std::byte, kLargestMessage> buffer;
  for (;;) {
    pollfd wanted[2] = {{socket, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(wanted, 2, -1);
    if (wanted[1].revents != 0) return;
    shm::ReceivedPacket packet;
    if (shm::receive_packet(socket, buffer, &packet) != 0 || packet.bytes == 0) return;
    // Something that nobody asked for comes first: tentqctl has to pass over it.
    shm::send_message(socket, make_message<DaemonNotice>());
    ControlHeader header;
    std::memcpy(&header, buffer.data(), sizeof(header));
    if (header.type == MessageType::query && packet.bytes == sizeof(Query) && on_query_) {
      Query query;
      std::memcpy(static_cast<void*>(&query), buffer.data(), sizeof(query));
      answer(socket, query);
    } else if (header.type == MessageType::command && packet.bytes == sizeof(Command) &&
               on_command_) {
      Command command;
      std::memcpy(static_cast<void*>(&command), buffer.data(), sizeof(command));
      auto reply = make_message<CommandReply>(header.request);
      std::string text;
      reply.status = on_command_(command, &text);
      reply.text.assign(text);
      shm::send_message(socket, reply);
    }
  }
}

void FakeServer::answer(int socket, const Query& query) {
  const QueryAnswer answer = on_query_(query);
  auto reply = make_message<QueryReply>(query.header.request);
  reply.status = answer.status;
  reply.text.assign(answer.text);
  if (answer.status != StatusCode::ok) {
    shm::send_message(socket, reply);
    return;
  }
  const shm::Fd document(::memfd_create("answer", MFD_CLOEXEC));
  if (::write(document.get(), answer.document.data(), answer.document.size()) < 0) return;
  reply.document_bytes = answer.document.size();
  const int fd = document.get();
  shm::send_message(socket, reply, std::span(&fd, 1));
}

}  // namespace tentq::test
