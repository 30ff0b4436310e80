// See http_connection.h.
#include "daemon/directory/http_connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

namespace tentq::directory {
namespace {

namespace http = boost::beast::http;

// A stream is silent while nothing changes: the kernel asks whether the other side is there.
void keep_alive(int socket) {
  constexpr int kOn = 1;
  constexpr int kIdleSeconds = 5;
  constexpr int kEverySeconds = 2;
  constexpr int kProbes = 3;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kEverySeconds, sizeof kEverySeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

}  // namespace

void HttpConnection::ask(const Request& request, std::chrono::nanoseconds limit,
                         Answered answered) {
  on_answer_ = std::move(answered);
  answer_.emplace();
  answer_->header_limit(kMostHead);
  answer_->body_limit(kMostBody);
  send(request, limit);
}

void HttpConnection::follow(const Request& request, std::chrono::nanoseconds limit, Stream stream) {
  stream_ = std::move(stream);
  lines_.emplace();
  lines_->header_limit(kMostHead);
  lines_->body_limit(boost::none);
  send(request, limit);
}

void HttpConnection::send(const Request& request, std::chrono::nanoseconds limit) {
  request_ = {http::verb::post, request.path, 11};
  request_.set(http::field::host, where_.text());
  request_.set(http::field::content_type, "application/json");
  request_.set(http::field::user_agent, "tentqd");
  request_.body() = request.body;
  request_.prepare_payload();
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](Error error) {
    if (!error && !self->closed_) self->fail("no answer in time");
  });
  open_ ? write() : connect();
}

void HttpConnection::connect() {
  Error error;
  const auto numeric = boost::asio::ip::make_address(where_.host, error);
  if (!error) {
    untried_ = {Tcp::endpoint(numeric, where_.port)};
    return connect_next({});
  }
  resolver_.async_resolve(
      where_.host, std::to_string(where_.port), Tcp::resolver::numeric_service,
      [self = shared_from_this()](Error failure, const Tcp::resolver::results_type& found) {
        if (self->closed_) return;
        if (failure) return self->fail("the name cannot be looked up: " + failure.message());
        for (const auto& entry : found) {
          if (self->untried_.size() < kMostAddresses) self->untried_.push_back(entry.endpoint());
        }
        std::reverse(self->untried_.begin(), self->untried_.end());
        self->connect_next({});
      });
}

void HttpConnection::connect_next(Error last) {
  if (untried_.empty()) {
    return fail(last ? "cannot connect: " + last.message() : "the name has no address");
  }
  const Tcp::endpoint endpoint = untried_.back();
  untried_.pop_back();
  Error ignored;
  socket_.close(ignored);
  socket_.async_connect(endpoint, [self = shared_from_this()](Error error) {
    if (self->closed_) return;
    if (error) return self->connect_next(error);
    self->connected();
  });
}

void HttpConnection::connected() {
  Error ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  if (lines_) keep_alive(socket_.native_handle());
  open_ = true;
  write();
}

void HttpConnection::write() {
  http::async_write(socket_, request_, [self = shared_from_this()](Error error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->fail(error.message());
    self->lines_ ? self->read_head() : self->read_answer();
  });
}

void HttpConnection::read_answer() {
  http::async_read(socket_, buffer_, *answer_,
                   [self = shared_from_this()](Error error, std::size_t) {
                     if (self->closed_) return;
                     if (error) return self->fail(error.message());
                     self->answered();
                   });
}

void HttpConnection::answered() {
  timer_.cancel();
  const bool again = answer_->get().keep_alive();
  const unsigned status = answer_->get().result_int();
  const std::string body = std::move(answer_->get().body());
  answer_.reset();
  const Answered answered = std::exchange(on_answer_, nullptr);
  if (!again) close();
  answered({}, status, body);
}

void HttpConnection::read_head() {
  http::async_read_header(socket_, buffer_, *lines_,
                          [self = shared_from_this()](Error error, std::size_t) {
                            if (self->closed_) return;
                            if (error) return self->fail(error.message());
                            const unsigned status = self->lines_->get().result_int();
                            if (status != 200)
                              return self->fail("HTTP status " + std::to_string(status));
                            self->timer_.cancel();
                            self->read_lines();
                          });
}

void HttpConnection::read_lines() {
  lines_->get().body().data = piece_.data();
  lines_->get().body().size = piece_.size();
  lines_->get().body().more = true;
  http::async_read_some(socket_, buffer_, *lines_,
                        [self = shared_from_this()](Error error, std::size_t) {
                          if (self->closed_) return;
                          const std::size_t left = self->lines_->get().body().size;
                          self->on_lines(error, self->piece_.size() - left);
                        });
}

void HttpConnection::on_lines(Error error, std::size_t length) {
  line_.append(piece_.data(), length);
  std::size_t begin = 0;
  for (std::size_t end; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    stream_.line(std::string_view(line_).substr(begin, end - begin));
    if (closed_) return;  // it was not what it should be
  }
  line_.erase(0, begin);
  if (line_.size() > kMostBody) return fail("a line of more than 4 MiB");
  if (error && error != http::error::need_buffer) return fail(error.message());
  if (lines_->is_done()) return fail("etcd ended the stream");
  read_lines();
}

void HttpConnection::close() {
  closed_ = true;
  Error ignored;
  resolver_.cancel();
  timer_.cancel();
  socket_.close(ignored);
}

void HttpConnection::fail(const std::string& what) {
  const auto self = shared_from_this();
  close();
  const Answered answered = std::exchange(on_answer_, nullptr);
  const Stream stream = std::exchange(stream_, {});
  if (answered) answered(what, 0, {});
  if (stream.over) stream.over(what);
}

}  // namespace tentq::directory
