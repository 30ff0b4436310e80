// One correct message of every type, for tests of the parser.
#pragma once

#include <vector>

#include "daemon/peers/peer_message.h"

namespace tentq::test {

template <class Message>
Message with_header(Message message) {
  message.header.type = Message::kType;
  message.header.bytes = sizeof(Message);
  message.header.request = 7;
  return message;
}

inline std::vector<PeerMessage> sample_messages() {
  PeerHello hello;
  hello.host.fill(3);
  hello.epoch_counter = hello.epoch_random = hello.link = 5;
  hello.advertised.assign("node-7:7471");
  PeerReady ready;
  ready.highest_class = 1;
  ready.data_connections = 2;
  ready.most_length = 1u << 20;
  PeerRefused refused;
  refused.status = StatusCode::draining;
  refused.text.assign("later");
  PeerOpenSegment open;
  open.name.assign("store-1");
  PeerSegment segment;
  segment.segment = 4;
  PeerRegions regions;
  regions.total = 70;
  regions.first = 6;
  regions.count = kRegionRows;
  for (std::uint32_t i = 0; i < kRegionRows; ++i) regions.rows[i] = {i * 4096u, 4096, 2, 0};
  PeerNotify notify;
  notify.segment = 1;
  notify.sender.assign("engine");
  notify.name_bytes = kMaxNotifyNameBytes;
  notify.message_bytes = kMaxNotifyMessageBytes;
  PeerNotified notified;
  notified.state = TaskState::completed;
  PeerDemand demand;
  demand.sent = demand.freed = 9;
  const auto numbered = [](auto message, auto member) {
    message.*member = 8;
    return message;
  };
  return {with_header(hello),
          with_header(PeerProof{}),
          with_header(ready),
          with_header(refused),
          with_header(PeerPing{}),
          with_header(PeerPong{}),
          with_header(open),
          with_header(segment),
          with_header(numbered(PeerCloseSegment{}, &PeerCloseSegment::segment)),
          with_header(numbered(PeerListRegions{}, &PeerListRegions::segment)),
          with_header(regions),
          with_header(notify),
          with_header(notified),
          with_header(numbered(PeerFence{}, &PeerFence::connection)),
          with_header(numbered(PeerFenced{}, &PeerFenced::connection)),
          with_header(demand),
          with_header(PeerGrant{})};
}

inline std::vector<std::byte> bytes_of(const PeerMessage& message) {
  return std::visit(
      [](const auto& m) {
        const auto* first = reinterpret_cast<const std::byte*>(&m);
        return std::vector<std::byte>(first, first + sizeof(m));
      },
      message);
}

}  // namespace tentq::test
