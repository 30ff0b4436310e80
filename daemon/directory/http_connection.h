// One connection to one endpoint of etcd: a request and its whole answer, again and again; or a
// request whose answer is a stream of lines. Asio callbacks on the gateway's thread.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/peer_address.h"
#include "daemon/directory/codec.h"

namespace tentq::directory {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // Of an answer's head, of a whole answer, and of one line of a stream.
  static constexpr std::uint32_t kMostHead = 16u << 10;
  static constexpr std::size_t kMostBody = 4u << 20;

  // A failure (empty: none), or the status and the body.
  using Answered =
      std::function<void(const std::string& failure, unsigned status, const std::string& body)>;
  struct Stream {
    std::function<void(std::string_view line)> line;
    std::function<void(const std::string& failure)> over;  // the last that is called
  };

  HttpConnection(boost::asio::io_context& io, PeerAddress where)
      : resolver_(io), timer_(io), socket_(io), where_(std::move(where)) {}

  // One at a time. With a failure, the connection is closed.
  void ask(const Request& request, std::chrono::nanoseconds limit, Answered answered);
  // The limit is for the first bytes of the answer. Nothing else is asked of this connection.
  void follow(const Request& request, std::chrono::nanoseconds limit, Stream stream);
  // Nothing more is called.
  void close();
  bool closed() const { return closed_; }

 private:
  using Error = boost::system::error_code;
  using Tcp = boost::asio::ip::tcp;
  static constexpr std::size_t kMostAddresses = 8;  // of a name

  void send(const Request& request, std::chrono::nanoseconds limit);
  void connect();
  void connect_next(Error last);
  void connected();
  void write();
  void read_answer();
  void answered();
  void read_head();
  void read_lines();
  void on_lines(Error error, std::size_t length);
  void fail(const std::string& what);

  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  Tcp::socket socket_;
  PeerAddress where_;
  std::vector<Tcp::endpoint> untried_;  // the next one last
  bool open_ = false;
  bool closed_ = false;
  boost::beast::http::request<boost::beast::http::string_body> request_;
  boost::beast::flat_buffer buffer_{kMostBody};
  std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> answer_;
  Answered on_answer_;
  std::optional<boost::beast::http::response_parser<boost::beast::http::buffer_body>> lines_;
  Stream stream_;
  std::array<char, 16 * 1024> piece_;
  std::string line_;
};

}  // namespace tentq::directory
