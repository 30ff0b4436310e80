// Reading a request and answering it. See scrape_connection.h.
#include "daemon/metrics/scrape_connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

namespace tentq {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kExposition = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

ScrapeConnection::ScrapeConnection(boost::asio::ip::tcp::socket socket,
                                   const std::function<std::string()>& page,
                                   std::function<void()> closed)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      page_(page),
      closed_(std::move(closed)),
      buffer_(kMostHead) {
  parser_.header_limit(kMostHead);
}

void ScrapeConnection::start() {
  end_after(kScrapeLimit);
  http::async_read_header(
      socket_, buffer_, parser_,
      [self = shared_from_this()](error_code error, std::size_t) { self->on_head(error); });
}

// In place of the limit before.
void ScrapeConnection::end_after(std::chrono::milliseconds limit) {
  timer_.expires_after(limit);
  timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->close();
  });
}

void ScrapeConnection::abandon() {
  error_code ignored;
  closed_ = nullptr;
  timer_.cancel();
  socket_.close(ignored);
}

void ScrapeConnection::close() {
  const auto closed = std::exchange(closed_, nullptr);
  abandon();
  if (closed) closed();
}

void ScrapeConnection::on_head(error_code error) {
  if (!closed_) return;
  if (!error) return answer_request();
  // What came is no request: http's own errors, but for an end before there was one.
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return answer(http::status::request_header_fields_too_large, kPlain, "too long a request\n");
  }
  const bool is_malformed = error.category() == make_error_code(http::error::bad_method).category();
  if (!is_malformed || error == http::error::end_of_stream ||
      error == http::error::partial_message) {
    return close();
  }
  answer(http::status::bad_request, kPlain, "not a request of HTTP/1: " + error.message() + "\n");
}

void ScrapeConnection::answer_request() {
  const auto& request = parser_.get();
  const auto target = request.target();
  if (target.substr(0, target.find('?')) != "/metrics") {
    return answer(http::status::not_found, kPlain, "the metrics are at /metrics\n");
  }
  if (request.method() != http::verb::get) {
    response_.set(http::field::allow, "GET");
    return answer(http::status::method_not_allowed, kPlain, "/metrics takes GET\n");
  }
  answer(http::status::ok, kExposition, page_());
}

void ScrapeConnection::answer(http::status status, const char* type, std::string body) {
  response_.result(status);
  response_.set(http::field::content_type, type);
  response_.body() = std::move(body);
  response_.keep_alive(false);
  response_.prepare_payload();
  http::async_write(socket_, response_, [self = shared_from_this()](error_code error, std::size_t) {
    self->on_answered(error);
  });
}

// Bytes that were not read when a socket is closed reset the connection, and with it the answer
// that the other side has not read yet. So what comes is read until the other side closes, too.
void ScrapeConnection::on_answered(error_code error) {
  if (!closed_) return;
  if (error) return close();
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  buffer_.clear();
  if (error) return close();
  end_after(kLingerLimit);
  read_to_end();
}

void ScrapeConnection::read_to_end() {
  socket_.async_read_some(buffer_.prepare(kMostHead),
                          [self = shared_from_this()](error_code error, std::size_t length) {
                            if (!self->closed_) return;
                            self->ignored_ += length;
                            if (error || self->ignored_ > kMostIgnored) return self->close();
                            self->read_to_end();
                          });
}

}  // namespace tentq
