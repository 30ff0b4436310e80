// See io_thread.h.
#include "transports/tcp/io_thread.h"

#include <pthread.h>

#include <utility>

#include "transports/faults_only.h"

namespace tentq {
namespace {

constexpr std::size_t kWasteBytes = 64u << 10;
// Handlers that run between two looks into the mailbox, at most.
constexpr int kHandlersInARow = 16;
// So often within stall_limit is every connection looked at.
constexpr int kLooksInALimit = 8;

struct Call : IoCommand {
  explicit Call(std::function<void()> work_to_do)
      : IoCommand(Kind::call), work(std::move(work_to_do)) {}
  std::function<void()> work;
};

}  // namespace

IoThread::IoThread(const TcpOptions* options, PeerMemory* memory, WakeupFd* conductor,
                   ConductorSockets* sockets)
    : options_(options),
      memory_(memory),
      sockets_(sockets),
      reports_(conductor),
      waste_(kWasteBytes),
      bell_descriptor_(io_, bell_.fd()),
      timer_(io_) {
  const FaultsOnly mask;
  try {
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "tentq-tcp");
      run();
    });
  } catch (...) {
    bell_descriptor_.release();
    throw;
  }
}

IoThread::~IoThread() {
  call([this] { stopping_ = true; });
  thread_.join();
  bell_descriptor_.release();
}

std::shared_ptr<Connection> IoThread::add(const ConnectionName& name, int fd,
                                          std::unique_ptr<ByteStream> stream) {
  const ConnectionSurroundings surroundings = {options_, memory_,  &reports_,
                                               &io_,     sockets_, waste_};
  auto connection = std::make_shared<Connection>(name, fd, std::move(stream), surroundings);
  call([this, connection] {
    connections_.push_back(connection);
    connection->start();
    if (!ticks_) wait_for_tick();
  });
  return connection;
}

void IoThread::let_go(const std::shared_ptr<Connection>& connection) {
  call([this, connection] { std::erase(connections_, connection); });
}

void IoThread::call(std::function<void()> work) {
  mail_.push(std::make_unique<Call>(std::move(work)).release());
  bell_.ring();
}

void IoThread::run() {
  wait_for_bell();
  while (!stopping_) {
    carry_out_mail();
    if (stopping_) break;
    bell_.arm();
    if (mail_.ready()) {
      bell_.disarm();
      continue;
    }
    io_.run_one();
    bell_.disarm();
    for (int i = 0; i < kHandlersInARow && !mail_.ready() && io_.poll_one() != 0; ++i) {
    }
  }
  for (const auto& connection : connections_) connection->abandon();
}

void IoThread::carry_out_mail() {
  while (IoCommand* command = mail_.take()) {
    switch (command->kind) {
      case IoCommand::Kind::chunk: {
        auto* chunk = static_cast<TcpChunk*>(command);
        Connection* connection = chunk->connection;
        if (changed_.empty() || changed_.back() != connection) changed_.push_back(connection);
        connection->take_over(chunk);
        break;
      }
      case IoCommand::Kind::flush: {
        static_cast<FlushCommand*>(command)->connection->flush_asked();
        break;
      }
      case IoCommand::Kind::receive: {
        static_cast<ReceiveCommand*>(command)->connection->receive_asked();
        break;
      }
      case IoCommand::Kind::call: {
        // It may let go of a connection.
        flush_changed();
        const std::unique_ptr<Call> call(static_cast<Call*>(command));
        call->work();
        break;
      }
    }
  }
  flush_changed();
}

void IoThread::flush_changed() {
  for (Connection* connection : changed_) connection->flush();
  changed_.clear();
}

// The bell is a readable fd: it ends a sleep in run_one().
void IoThread::wait_for_bell() {
  bell_descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                              [this](const boost::system::error_code& error) {
                                if (error) return;
                                // Before the next wait, which would see it rung.
                                bell_.disarm();
                                wait_for_bell();
                              });
}

// While there are connections.
void IoThread::wait_for_tick() {
  ticks_ = !connections_.empty();
  if (!ticks_) return;
  timer_.expires_after(options_->stall_limit / kLooksInALimit);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const Time now = tcp_now();
    for (const auto& connection : connections_) connection->tick(now);
    wait_for_tick();
  });
}

}  // namespace tentq
