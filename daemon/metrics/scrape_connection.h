// One connection of a scraper: one request, one answer, then its end, at the latest after
// kScrapeLimit, however slow the other side reads or writes, and kLingerLimit after an answer.
// Conductor thread (Asio callbacks).
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <string>

namespace tentq {

inline constexpr std::chrono::seconds kScrapeLimit{5};
inline constexpr std::chrono::milliseconds kLingerLimit{100};

class ScrapeConnection : public std::enable_shared_from_this<ScrapeConnection> {
 public:
  // `page` makes the metrics' text. `closed` is called once, unless it is abandoned.
  ScrapeConnection(boost::asio::ip::tcp::socket socket, const std::function<std::string()>& page,
                   std::function<void()> closed);

  void start();
  // Closes now; `closed` is not called.
  void abandon();

 private:
  // Of the request's head; more is answered 431.
  static constexpr std::uint32_t kMostHead = 8u << 10;
  // Of what comes behind it, read so that the answer is not lost to a reset.
  static constexpr std::size_t kMostIgnored = 64u << 10;

  void end_after(std::chrono::milliseconds limit);
  void on_head(boost::system::error_code error);
  void answer_request();
  void answer(boost::beast::http::status status, const char* type, std::string body);
  void on_answered(boost::system::error_code error);
  void read_to_end();
  void close();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const std::function<std::string()>& page_;
  std::function<void()> closed_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  boost::beast::http::response<boost::beast::http::string_body> response_;
  std::size_t ignored_ = 0;
};

}  // namespace tentq
