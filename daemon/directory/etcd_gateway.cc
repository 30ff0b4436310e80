// See etcd_gateway.h.
#include "daemon/directory/etcd_gateway.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/conductor.h"
#include "daemon/directory/codec.h"

namespace tentq::directory {

EtcdGateway::EtcdGateway(boost::asio::io_context& conductor, std::vector<PeerAddress> endpoints,
                         std::string prefix, Duration limit, std::size_t first)
    : conductor_(conductor),
      endpoints_(std::move(endpoints)),
      prefix_(std::move(prefix)),
      limit_(limit),
      work_(io_.get_executor()) {
  for (Channel& channel : channels_) channel.endpoint = first % endpoints_.size();
  watching_.endpoint = first % endpoints_.size();
  thread_ = std::thread([this] { io_.run(); });
}

EtcdGateway::~EtcdGateway() {
  io_.stop();
  thread_.join();
}

std::shared_ptr<HttpConnection> EtcdGateway::connection_of(Channel& channel) {
  if (channel.connection == nullptr || channel.connection->closed()) {
    channel.connection = std::make_shared<HttpConnection>(io_, endpoints_[channel.endpoint]);
  }
  return channel.connection;
}

void EtcdGateway::ask(Line line, const Call& call, Answered answered) {
  boost::asio::post(
      io_, [this, line, call, answered = std::move(answered)] { carry_out(line, call, answered); });
}

void EtcdGateway::carry_out(Line line, const Call& call, const Answered& answered) {
  Channel& channel = channels_[static_cast<std::size_t>(line)];
  connection_of(channel)->ask(
      encode(call, prefix_), limit_,
      [this, &channel, call, answered](const std::string& failure, unsigned status,
                                       const std::string& body) {
        Answer answer = failure.empty() ? decode(call, prefix_, status, body)
                                        : Answer{Failed{Fault::unreachable, {}, failure}};
        if (auto* failed = std::get_if<Failed>(&answer)) {
          failed->endpoint = endpoints_[channel.endpoint].text();
          if (channel.connection) channel.connection->close();
          next_endpoint(channel);
        }
        boost::asio::post(conductor_, [answered, answer = std::move(answer)] {
          answered(answer, monotonic_now());
        });
      });
}

void EtcdGateway::watch(std::int64_t revision, Told told) {
  stop_watch();
  watch_ = std::make_shared<Watch>(Watch{std::move(told)});
  boost::asio::post(io_, [this, revision, watch = watch_] { begin_watch(revision, watch); });
}

void EtcdGateway::begin_watch(std::int64_t revision, const std::shared_ptr<Watch>& watch) {
  if (watching_.connection) watching_.connection->close();
  HttpConnection::Stream stream;
  stream.line = [this, watch](std::string_view line) { tell(watch, decode_watch(prefix_, line)); };
  stream.over = [this, watch](const std::string& failure) {
    tell(watch, {Failed{Fault::unreachable, {}, failure}});
  };
  connection_of(watching_)->follow(encode_watch(prefix_, revision), limit_, std::move(stream));
}

void EtcdGateway::tell(const std::shared_ptr<Watch>& watch, std::vector<WatchNews> news) {
  for (WatchNews& each : news) {
    auto* failed = std::get_if<Failed>(&each);
    if (failed != nullptr) {
      failed->endpoint = endpoints_[watching_.endpoint].text();
      watching_.connection->close();
      if (failed->fault != Fault::compacted) next_endpoint(watching_);
    }
    boost::asio::post(conductor_, [watch, told = std::move(each)] {
      if (!watch->stopped) watch->told(told, monotonic_now());
    });
    if (failed != nullptr) return;
  }
}

void EtcdGateway::stop_watch() {
  if (watch_ == nullptr) return;
  watch_->stopped = true;
  watch_.reset();
  boost::asio::post(io_, [this] {
    if (watching_.connection) watching_.connection->close();
  });
}

void EtcdGateway::dispose(KnownNames::Table table) {
  auto kept = std::make_shared<KnownNames::Table>(std::move(table));
  boost::asio::post(io_, [kept = std::move(kept)]() mutable { kept.reset(); });
}

}  // namespace tentq::directory
