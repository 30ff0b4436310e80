// One TCP connection between daemons that carries control messages: bytes in through the parser,
// bytes out through a bounded queue. It keeps itself alive while an operation runs. Conductor
// thread (Asio callbacks).
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/peers/parser.h"
#include "daemon/peers/reason.h"
#include "daemon/peers/tls_stream.h"
#include "shm/fd.h"

namespace tentq {

class PeerConnection : public std::enable_shared_from_this<PeerConnection> {
 public:
  // Who reads. Neither is called from inside a call of this class's other functions but resume().
  class Reader {
   public:
    virtual void received(const PeerMessage& message) = 0;
    // It has ended by itself, and is closed.
    virtual void ended(PeerReason reason, const std::string& text) = 0;

   protected:
    ~Reader() = default;
  };

  // Bytes that may wait for a peer that does not read.
  static constexpr std::size_t kMostQueued = 1u << 20;
  // An answerer reads no further questions while so much of its answers waits.
  static constexpr std::size_t kMostUnread = 1u << 18;

  // `socket` is connected; `tls`, if there is one, is through its handshake over it. `place` is
  // held until the connection is closed or let_in().
  PeerConnection(boost::asio::ip::tcp::socket socket, std::unique_ptr<TlsStream> tls,
                 std::shared_ptr<void> place);

  // Messages go to `reader` (null: nobody) until it is replaced or the connection closed.
  void read_by(Reader* reader) { reader_ = reader; }
  // Begins or goes on to read.
  void resume();
  // After the message that is being received, nothing is read until resume().
  void pause() { reading_ = false; }
  // Whether the other side has sent more than was received.
  bool has_more() const { return !parser_.empty(); }
  // Something came since the last call.
  bool take_heard() { return std::exchange(heard_, false); }

  // Fills in the header's type and size. False: it is closed, or ends because too much waits.
  template <class Message>
  bool send(Message message) {
    message.header.type = Message::kType;
    message.header.bytes = sizeof(Message);
    return send_bytes(&message, sizeof(message));
  }
  // It is questions that come: no more are read while many answers wait to be written.
  void answers() { answers_ = true; }
  // `then` runs when everything is written, unless the connection ends before.
  void flush(std::function<void()> then);
  // Tells the other side why, then closes; the reader hears nothing more.
  void refuse(PeerReason reason, const std::string& text);
  // At once; the reader hears nothing more.
  void close();
  // The socket, non-blocking, with its TLS if it has that; only while paused and flushed. The
  // connection is closed then.
  struct Released {
    shm::Fd socket;
    std::unique_ptr<TlsStream> tls;
  };
  Released release();
  void let_in() { place_.reset(); }
  bool closed() const { return closed_; }

  int native() { return socket_.native_handle(); }
  const boost::asio::ip::tcp::endpoint& remote() const { return remote_; }
  const boost::asio::ip::tcp::endpoint& local() const { return local_; }
  // The name in the other side's certificate, and the one that was dialed; empty without TLS.
  const std::string& certificate() const { return certificate_; }
  std::string dialed() const { return tls_ ? tls_->dialed() : std::string(); }

 private:
  bool send_bytes(const void* bytes, std::size_t size);
  void write();
  void on_written(boost::system::error_code error);
  void write_tls();
  void read();
  void read_tls();
  void on_read(boost::system::error_code error, std::size_t size);
  void take_messages();
  void end(PeerReason reason, const std::string& text);
  void linger();
  void drop_what_comes();

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;  // null: messages go as they are
  std::string certificate_;
  boost::asio::steady_timer linger_timer_;
  boost::asio::ip::tcp::endpoint remote_;
  boost::asio::ip::tcp::endpoint local_;
  std::shared_ptr<void> place_;
  Reader* reader_ = nullptr;
  PeerParser parser_;
  bool answers_ = false;
  bool behind_ = false;             // reads no more until answers were written
  std::vector<std::byte> queued_;   // behind
  std::vector<std::byte> writing_;  // what is being written; empty: nothing
  std::size_t written_ = 0;         // of that, by TLS
  std::function<void()> flushed_;
  std::size_t dropped_ = 0;
  bool read_runs_ = false;
  bool reading_ = false;
  bool heard_ = false;
  bool overflowed_ = false;
  bool refused_ = false;  // closes when all is written
  bool closed_ = false;
};

}  // namespace tentq
