// What the TCP transport tells the daemon besides completions: a peer asks for a READ, a connection
// is over.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/classes.h"
#include "transports/tcp/peer_memory.h"

namespace tentq {

// The dialer of a connection asks (WRITE, READ), its acceptor answers (DONE, DATA).
enum class TcpSide : std::uint8_t { dialer, acceptor };

enum class TcpEventKind : std::uint8_t {
  read_asked,         // by the peer: answer it with chunks or refuse_read()
  connection_lost,    // by itself
  connection_closed,  // the answer to close_connection() and drop_link()
};

// Why a connection is over.
enum class TcpLoss : std::uint8_t {
  none,
  closed_by_peer,
  socket_error,       // `error` says which
  protocol_error,     // `detail` says which
  checksum_mismatch,  // a payload did not arrive as it was sent, or its memory changed on the way
  stalled,            // nothing moved for stall_limit
  unanswered,         // nothing of a READ came for read_limit
  memory_fault,       // memory was taken away in the middle of its sending
  closed_here,        // close_connection(), drop_link()
};
std::string_view to_string(TcpLoss loss);

struct TcpEvent {
  TcpEventKind kind{};
  LinkKey link;
  std::uint64_t connection = 0;

  // read_asked. `read` is unique in the transport's life. The rest is the peer's word: length is 1
  // to most_length, offset + length does not wrap, cls is below kMaxClasses; more is not known.
  std::uint64_t read = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ClassId cls{};

  // connection_lost, connection_closed: no byte is taken from it any more.
  TcpLoss why{};
  int error = 0;            // errno of socket_error
  std::string_view detail;  // of protocol_error; static text
  // WRITE chunks of it may have been sent in part: they end after fenced() or unfenced().
  bool needs_fence = false;
};

}  // namespace tentq
