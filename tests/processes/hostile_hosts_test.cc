// Somebody who plays another host against a real daemon: what is not proved, not opened, not given
// or not in bounds is refused, logged once and counted, and no byte is read or written.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "proto/peer_data.h"
#include "tests/daemon/peers/raw_peer.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/exporter.h"
#include "tests/processes/two_hosts.h"

namespace tentq::test {
namespace {

using namespace tentq::size_literals;  // NOLINT: literals

constexpr std::uint8_t kHost = 9;
constexpr std::uint64_t kFilling = 4;
const std::string kKeyText(48, 'k');

PeerHello hello(std::uint64_t epoch, std::uint64_t link, std::uint64_t connection = 0) {
  PeerHello own = make_hello({host_id(kHost), epoch, 1000 * epoch}, key_of(kKeyText), "");
  own.link = link;
  own.connection = connection;
  own.role = connection == 0 ? PeerRole::control : PeerRole::data;
  return own;
}

class HostileHosts : public TwoHosts {
 protected:
  // A Store whose bytes nobody may change.
  Exporter& export_store(Access access, const std::string& name = "store") {
    ExporterOptions options;
    options.name = name;
    options.bytes = 64_KiB;
    options.rights.other_hosts = access;
    exporters_.push_back(std::make_unique<Exporter>(stores().socket(), options));
    exporters_.back()->fill(kFilling, 0, 64_KiB);
    return *exporters_.back();
  }
  void end_stores() {
    for (const auto& exporter : exporters_) {
      EXPECT_EQ(exporter->differences(kFilling, 0, 64_KiB), 0u);
      EXPECT_EQ(exporter->stop(), 0);
    }
  }
  // How often the Stores' daemon has met errors of that kind.
  std::uint64_t errors(const std::string& kind) {
    std::uint64_t count = 0;
    const nlohmann::json rows = query(stores().admin_socket(), QueryKind::errors).at("errors");
    for (const nlohmann::json& row : rows) {
      if (row.dump().find(kind) != std::string::npos) count += row.at("count").get<std::uint64_t>();
    }
    return count;
  }
  std::size_t lines_of_log(const std::string& text) {
    const std::string log = stores().log();
    std::size_t count = 0;
    for (std::size_t at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++count;
    return count;
  }
  // On the link of `control`; nothing when it is refused.
  std::optional<PeerSegment> open(RawPeer& control, const std::string& name) {
    auto message = make_message<PeerOpenSegment>(1);
    message.name.assign(name);
    control.send(message);
    return control.next_but_pings<PeerSegment>();
  }

  Loop loop_;
  std::vector<std::unique_ptr<Exporter>> exporters_;
};

bool receive_all(const RawPeer& peer, void* to, std::size_t bytes) {
  return ::recv(peer.socket(), to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// The answer to a WRITE of that length, of which all bytes are sent.
Reason write_reason(RawPeer& data, std::uint64_t segment, std::uint64_t offset,
                    std::uint64_t length) {
  auto head = make_message<PeerWrite>(77);
  head.segment = segment;
  head.offset = offset;
  head.length = length;
  const std::vector<std::byte> payload(length, std::byte{0xee});
  PeerDone done;
  if (!data.send(head) || !data.send_bytes(payload.data(), payload.size()) ||
      !receive_all(data, &done, sizeof done)) {
    ADD_FAILURE() << "the connection ended";
    return Reason::none;
  }
  EXPECT_EQ(done.header.type, PeerMessageType::done);
  EXPECT_EQ(done.header.request, 77u);
  return done.reason;
}

Reason read_reason(RawPeer& data, std::uint64_t segment, std::uint64_t offset,
                   std::uint64_t length) {
  auto head = make_message<PeerRead>(78);
  head.segment = segment;
  head.offset = offset;
  head.length = length;
  head.cls = ClassId::foreground;
  PeerData answer;
  if (!data.send(head) || !receive_all(data, &answer, sizeof answer)) {
    ADD_FAILURE() << "the connection ended";
    return Reason::none;
  }
  EXPECT_EQ(answer.header.type, PeerMessageType::data);
  EXPECT_EQ(answer.length, 0u);
  return answer.reason;
}

TEST_F(HostileHosts, WithoutTheKeyGetNothingHoweverOftenTheyCome) {
  start();
  export_store(Access::remote_read_write);
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    RawPeer wrong(loop_, stores_address());
    EXPECT_FALSE(wrong.shake_hands(hello(1, 1), key_of(std::string(48, 'w'))));
    EXPECT_TRUE(wrong.ended());
    RawPeer keyless(loop_, stores_address());
    keyless.send(RawPeer::hello(kHost, 1, 1, 0, false));
    EXPECT_TRUE(keyless.ended());
    // A message of data before anything was proved.
    RawPeer rash(loop_, stores_address());
    auto head = make_message<PeerWrite>(1);
    head.length = 4096;
    rash.send(head);
    EXPECT_TRUE(rash.ended());
  }
  EXPECT_GE(errors("wrong_key"), static_cast<std::uint64_t>(kTimes)) << stores().log();
  EXPECT_EQ(query(stores().admin_socket(), QueryKind::peers).at("peers").size(), 0u);
  EXPECT_LT(lines_of_log("wrong_key"), 5u) << stores().log();
  end_stores();
}

TEST_F(HostileHosts, ReachNothingButWhatTheyOpenedAndMay) {
  start();
  export_store(Access::remote_read_write);
  export_store(Access::remote_read, "readable");
  export_store(Access::none, "private");
  RawPeer control(loop_, stores_address());
  ASSERT_TRUE(control.shake_hands(hello(1, 1), key_of(kKeyText)));
  const auto store = open(control, "store");
  const auto readable = open(control, "readable");
  ASSERT_TRUE(store && store->status == StatusCode::ok);
  ASSERT_TRUE(readable && readable->status == StatusCode::ok);
  EXPECT_EQ(open(control, "private")->status, StatusCode::not_permitted);
  EXPECT_EQ(open(control, "nobody")->status, StatusCode::not_found);
  RawPeer data(loop_, stores_address());
  ASSERT_TRUE(data.shake_hands(hello(1, 1, 1), key_of(kKeyText)));

  EXPECT_EQ(write_reason(data, store->segment, 64_KiB - 100, 101), Reason::out_of_range);
  EXPECT_EQ(write_reason(data, store->segment, 1_GiB, 4096), Reason::out_of_range);
  EXPECT_EQ(write_reason(data, readable->segment, 0, 4096), Reason::not_permitted);
  EXPECT_EQ(write_reason(data, 4711, 0, 4096), Reason::unknown_segment);
  EXPECT_EQ(read_reason(data, store->segment, 64_KiB - 100, 101), Reason::out_of_range);
  EXPECT_EQ(read_reason(data, 4711, 0, 4096), Reason::unknown_segment);
  end_stores();
}

// Lengths that no honest host sends end the connection, and nothing is made ready for them.
TEST_F(HostileHosts, WithForgedLengthsLoseTheirConnection) {
  start();
  export_store(Access::remote_read_write);
  RawPeer control(loop_, stores_address());
  ASSERT_TRUE(control.shake_hands(hello(1, 1), key_of(kKeyText)));
  const auto store = open(control, "store");
  ASSERT_TRUE(store && store->status == StatusCode::ok);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::pair<std::uint64_t, std::uint64_t> forged[] = {
      {0, 0}, {0, kMost}, {kMost - 10, 4096}, {0, std::uint64_t{1} << 62}};
  std::uint64_t connection = 0;
  std::uint64_t tried = 0;
  for (const auto& [offset, length] : forged) {
    for (const bool writes : {true, false}) {
      SCOPED_TRACE(length);
      ++tried;
      std::optional<RawPeer> made;
      // The one before may not be forgotten yet.
      ASSERT_TRUE(eventually(kLong, [&] {
        made.emplace(loop_, stores_address());
        return made->shake_hands(hello(1, 1, ++connection), key_of(kKeyText)).has_value();
      }));
      RawPeer& data = *made;
      if (writes) {
        auto head = make_message<PeerWrite>(1);
        head.segment = store->segment;
        head.offset = offset;
        head.length = length;
        data.send(head);
      } else {
        auto head = make_message<PeerRead>(1);
        head.segment = store->segment;
        head.offset = offset;
        head.length = length;
        data.send(head);
      }
      char byte = 0;
      EXPECT_LE(::recv(data.socket(), &byte, 1, 0), 0);
    }
  }
  EXPECT_TRUE(eventually(kLong, [&] { return errors("protocol error") == tried; }))
      << errors("protocol error") << stores().log();
  end_stores();
}

TEST_F(HostileHosts, OfAnEpochThatIsOverAreTurnedAway) {
  start();
  export_store(Access::remote_read_write);
  RawPeer now(loop_, stores_address());
  ASSERT_TRUE(now.shake_hands(hello(5, 1), key_of(kKeyText)));
  RawPeer older(loop_, stores_address());
  EXPECT_FALSE(older.shake_hands(hello(4, 9), key_of(kKeyText)));
  EXPECT_TRUE(older.ended());
  RawPeer older_data(loop_, stores_address());
  EXPECT_FALSE(older_data.shake_hands(hello(4, 1, 1), key_of(kKeyText)));
  EXPECT_TRUE(older_data.ended());
  EXPECT_GE(errors("stale"), 2u) << stores().log();
  // The one that was there goes on, until its host starts anew.
  const auto store = open(now, "store");
  EXPECT_TRUE(store && store->status == StatusCode::ok);
  RawPeer newer(loop_, stores_address());
  ASSERT_TRUE(newer.shake_hands(hello(6, 1), key_of(kKeyText)));
  EXPECT_TRUE(now.ended());
  RawPeer data(loop_, stores_address());
  EXPECT_FALSE(data.shake_hands(hello(5, 1, 2), key_of(kKeyText)));
  end_stores();
}

}  // namespace
}  // namespace tentq::test
