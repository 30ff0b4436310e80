// Metrics over HTTP from a running daemon: what it says of real transfers, and that nobody at its
// port, however slow, rude or many, holds up a transfer or keeps a descriptor.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "shm/fd.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/load.h"
#include "tests/support/loopback.h"
#include "tests/support/proc.h"
#include "tests/support/scraped.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

constexpr const char* kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A connection to a port of this host. Throws when there is none or it says nothing for a minute.
class Connection {
 public:
  // `receive_bytes` is the kernel's buffer for what comes; 0: as usual.
  explicit Connection(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes != 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    const sockaddr_in to = loopback(port);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
      throw std::runtime_error("no connection to port " + std::to_string(port));
    }
  }
  Connection(std::uint16_t port, const std::string& text) : Connection(port) { send(text); }

  void send(const std::string& text) const {
    const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(text.size())) throw std::runtime_error("not sent");
  }
  bool send_would_fail() const { return ::send(fd_.get(), "x", 1, MSG_NOSIGNAL) < 0; }
  // All that comes until the other side has closed.
  std::string read_to_end() const {
    std::string all;
    char part[4096];
    for (;;) {
      pollfd fd{fd_.get(), POLLIN, 0};
      if (::poll(&fd, 1, 60'000) <= 0) throw std::runtime_error("neither an answer nor an end");
      const ssize_t length = ::recv(fd_.get(), part, sizeof(part), 0);
      if (length <= 0) return all;
      all.append(part, static_cast<std::size_t>(length));
    }
  }

 private:
  shm::Fd fd_;
};

class Metrics : public DaemonFixture {
 protected:
  void start_with_metrics(nlohmann::json config = nlohmann::json::object()) {
    config["metrics_listen"] = "127.0.0.1:0";
    start(config);
    port_ = port_of(ask(QueryKind::status));
  }
  static std::uint16_t port_of(const nlohmann::json& status) {
    const auto at = status.at("metrics").get<std::string>();
    return static_cast<std::uint16_t>(std::stoul(at.substr(at.rfind(':') + 1)));
  }
  std::string answer_to(const std::string& request) const {
    return Connection(port_, request).read_to_end();
  }
  Scraped scrape() const {
    const std::string answer = answer_to(kGet);
    if (!answer.starts_with("HTTP/1.1 200 OK\r\n")) throw std::runtime_error(answer);
    return Scraped(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  std::size_t descriptors() { return facts_of(daemon().pid()).fds; }

  std::uint16_t port_ = 0;
};

TEST_F(Metrics, TellOfTransfers) {
  start_with_metrics({{"shm", {{"chunk_bytes", "256KiB"}}}});
  Exporter store(socket(), {.bytes = 1_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 1_MiB);
  constexpr int kOwners = 20;
  SubmitOptions foreground;
  foreground.cls = Class::foreground;
  for (int i = 0; i < kOwners; ++i) {
    must_complete(client, write_to(segment, 0, memory.bytes()), foreground);
  }
  const Scraped scraped = scrape();
  const std::string labels = "{class=\"foreground\"}";
  EXPECT_EQ(scraped.value("tentq_enqueued_total"), kOwners);
  EXPECT_EQ(scraped.value("tentq_completed_total{result=\"completed\"}"), kOwners);
  EXPECT_EQ(scraped.value("tentq_completed_total{result=\"failed\"}"), 0);
  EXPECT_EQ(scraped.value("tentq_transferred_bytes_total"), kOwners * 1_MiB);
  EXPECT_EQ(scraped.value("tentq_dispatched_chunks_total"), kOwners * 4);
  EXPECT_EQ(scraped.value("tentq_queue_wait_seconds_count" + labels), kOwners);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_count" + labels), kOwners);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_count{class=\"default\"}"), 0);
  EXPECT_GT(scraped.value("tentq_transport_seconds_sum" + labels), 0);
  EXPECT_EQ(scraped.value("tentq_queue_depth" + labels), 0);
  EXPECT_EQ(scraped.value("tentq_sessions"), 2);
  EXPECT_EQ(scraped.value("tentq_missed_wakeups_total"), 0);
  EXPECT_GT(scraped.value("tentq_window_bytes{lane=\"shm write\",transport=\"shm\"}"), 0);
  const nlohmann::json latency = ask(QueryKind::status).at("latency").at("foreground");
  EXPECT_EQ(latency.at("wait").at("owners"), kOwners);
  EXPECT_EQ(latency.at("transport").at("owners"), kOwners);
  EXPECT_GT(latency.at("transport").at("p50_ns"), 0);
  EXPECT_LE(latency.at("transport").at("p50_ns"), latency.at("transport").at("p99_ns"));
  EXPECT_EQ(store.stop(), 0);
}

// What never left the queue waited, and was not transported.
TEST_F(Metrics, TellOfOwnersThatTimedOutInTheQueue) {
  nlohmann::json config = narrow_lanes();
  config["shm"]["paced_bytes_per_second"] = 1_MiB;
  start_with_metrics(config);
  Exporter store(socket(), {.bytes = 1_MiB});
  Client client = attach(socket(), "engine");
  const Segment segment = need(client.open_segment("store"), "open_segment");
  Memory memory = allocate_at(client, 1_MiB);
  const Request request = write_to(segment, 0, memory.bytes().first(128_KiB));
  Batch first = submit_again_and_again(client, request, 1);
  Batch late =
      submit_again_and_again(client, request, 1, {.max_queue_wait = std::chrono::milliseconds{1}});
  EXPECT_TRUE(late.wait(kLong).ok());
  EXPECT_TRUE(first.wait(kLong).ok());
  EXPECT_EQ(late.overall().state, State::timeout);
  const Scraped scraped = scrape();
  EXPECT_EQ(scraped.value("tentq_completed_total{result=\"timeout\"}"), 1);
  EXPECT_EQ(scraped.value("tentq_queue_wait_seconds_count{class=\"default\"}"), 2);
  EXPECT_EQ(scraped.value("tentq_transport_seconds_count{class=\"default\"}"), 1);
  EXPECT_GE(scraped.value("tentq_queue_wait_seconds_sum{class=\"default\"}"), 0.001);
  EXPECT_GE(scraped.value("tentq_transport_seconds_sum{class=\"default\"}"), 0.05);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Metrics, AreAtOnePlaceForOneMethod) {
  start_with_metrics();
  const auto begins = [&](const std::string& request, const std::string& head) {
    const std::string answer = answer_to(request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + head)) << request << "\n" << answer;
    return answer;
  };
  const std::string good = begins(kGet, "200 OK");
  EXPECT_NE(good.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), good.npos);
  EXPECT_NE(good.find("Connection: close\r\n"), good.npos);
  begins("GET /metrics?name=tentq_lanes HTTP/1.1\r\nHost: h\r\n\r\n", "200 OK");
  begins("GET /metrics HTTP/1.0\r\n\r\n", "200 OK");
  begins("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "404 ");
  begins("GET /metricsx HTTP/1.1\r\nHost: h\r\n\r\n", "404 ");
  begins("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "404 ");
  const std::string post =
      begins("POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "405 ");
  EXPECT_NE(post.find("Allow: GET\r\n"), post.npos);
  begins("DELETE /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "405 ");
  begins("HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "405 ");
  begins("\x16\x03\x01\x02\x01\x01 hello, is this TLS?\r\n\r\n", "400 ");
  begins("GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "431 ");
  // As much behind a request as is allowed, and more than that: the daemon reads on or ends it.
  begins("POST /metrics HTTP/1.1\r\nContent-Length: 9999\r\n\r\n" + std::string(9'999, 'x'),
         "405 ");
  (void)scrape();
}

TEST_F(Metrics, AnswerManyAtOnce) {
  start_with_metrics();
  (void)scrape();
  const std::size_t before = descriptors();
  std::vector<Connection> connections;
  for (int i = 0; i < 40; ++i) connections.emplace_back(port_, kGet);
  for (const Connection& connection : connections) {
    const std::string answer = connection.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NO_THROW(Scraped(answer.substr(answer.find("\r\n\r\n") + 4)));
  }
  connections.clear();
  EXPECT_TRUE(eventually(kLong, [&] { return descriptors() <= before; }));
}

// They have all places; whoever comes next has one as soon as their time is over.
TEST_F(Metrics, GiveSilentOnesNoMoreThanTheirTime) {
  start_with_metrics();
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 2});
  ASSERT_TRUE(load.proceeds(5, kLong));
  const std::size_t before = descriptors();
  std::vector<Connection> silent;
  silent.emplace_back(port_);
  silent.emplace_back(port_, "GET /metr");
  silent.emplace_back(port_, "GET /metrics HTTP/1.1\r\nHost: local");
  silent.emplace_back(port_, "G");
  const Connection waits(port_, kGet);
  EXPECT_TRUE(load.proceeds(50, kLong));
  EXPECT_TRUE(waits.read_to_end().starts_with("HTTP/1.1 200 OK\r\n"));
  for (const Connection& connection : silent) EXPECT_EQ(connection.read_to_end(), "");
  EXPECT_TRUE(eventually(kLong, [&] { return descriptors() <= before; }));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches() + load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Metrics, GiveThoseWhoReadNothingNoMoreThanTheirTime) {
  start_with_metrics();
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 2});
  ASSERT_TRUE(load.proceeds(5, kLong));
  const std::size_t before = descriptors();
  std::vector<Connection> slow;
  for (int i = 0; i < 6; ++i) slow.emplace_back(port_, 1).send(kGet);
  EXPECT_TRUE(load.proceeds(50, kLong));
  (void)scrape();
  EXPECT_TRUE(eventually(kLong, [&] { return descriptors() <= before; }));
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches() + load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Metrics, EndWhoSendsWithoutEnd) {
  start_with_metrics();
  const std::size_t before = descriptors();
  {
    const Connection connection(port_, kGet);
    EXPECT_TRUE(eventually(kLong, [&] {
      for (int i = 0; i < 1'000; ++i) {
        if (connection.send_would_fail()) return true;
      }
      return false;
    }));
  }
  EXPECT_TRUE(eventually(kLong, [&] { return descriptors() <= before; }));
}

TEST_F(Metrics, ScrapedWithoutEndLeaveRoomForTransfers) {
  start_with_metrics();
  Exporter store(socket(), {.bytes = 4 * 64_KiB});
  Load load(socket(), {.clients = 2});
  std::atomic<bool> stop{false};
  std::atomic<int> scrapes{0};
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 3; ++i) {
    scrapers.emplace_back([&] {
      while (!stop.load()) {
        if (answer_to(kGet).starts_with("HTTP/1.1 200 OK\r\n")) ++scrapes;
      }
    });
  }
  EXPECT_TRUE(eventually(kLong, [&] { return scrapes.load() >= 30; }));
  EXPECT_TRUE(load.proceeds(100, kLong));
  stop = true;
  for (std::thread& scraper : scrapers) scraper.join();
  EXPECT_TRUE(load.stop());
  EXPECT_EQ(load.mismatches() + load.failures(), 0u);
  EXPECT_EQ(store.stop(), 0);
}

TEST_F(Metrics, AreNotServedWhenTheyAreOff) {
  start();
  EXPECT_TRUE(ask(QueryKind::status).at("metrics").is_null());
  EXPECT_EQ(daemon().log().find("metrics"), std::string::npos) << daemon().log();
}

TEST_F(Metrics, WithATakenPortAreMissedWithAWarningAndARemedy) {
  start_with_metrics();
  DaemonOptions options;
  options.config = {{"metrics_listen", "127.0.0.1:" + std::to_string(port_)}};
  DaemonProcess second(options);
  const nlohmann::json status = query(second.admin_socket(), QueryKind::status);
  EXPECT_EQ(status.at("state"), "running");
  EXPECT_TRUE(status.at("metrics").is_null());
  ASSERT_EQ(status.at("warnings").size(), 1u) << status.at("warnings").dump();
  const auto warning = status.at("warnings").at(0).get<std::string>();
  EXPECT_NE(warning.find("Address already in use"), std::string::npos) << warning;
  EXPECT_NE(warning.find("`metrics_listen`"), std::string::npos) << warning;
  const std::string log = second.log();
  EXPECT_NE(log.find(warning), std::string::npos) << log;
  EXPECT_EQ(log.find(warning), log.rfind(warning)) << log;
  EXPECT_EQ(second.stop(), 0);
  (void)scrape();
}

TEST_F(Metrics, AreServedToOthersWhenThatIsWanted) {
  start({{"metrics_listen", "0.0.0.0:0"}, {"metrics_listen_public", true}});
  port_ = port_of(ask(QueryKind::status));
  EXPECT_EQ(scrape().value("tentq_sessions"), 0);
}

TEST_F(Metrics, AreServedWhileTheDaemonDrains) {
  start_with_metrics();
  EXPECT_EQ(scrape().value("tentq_draining"), 0);
  command(daemon().admin_socket(), CommandKind::drain);
  EXPECT_EQ(scrape().value("tentq_draining"), 1);
}

}  // namespace
}  // namespace tentq::test
