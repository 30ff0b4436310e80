// One host of a network: its core and lanes, the uplink that its data leaves by, the memory that
// takes data in, and the READs that it serves. Bytes and nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/core/credits/receiver.h"
#include "tests/credits/credit_audit.h"
#include "tests/sim/host.h"
#include "tests/sim/net/serving.h"

namespace tentq::sim {

enum class LaneKind : std::uint8_t {
  write,
  read,   // data comes from the other host, which is asked for it
  serve,  // answers to the other host's READs
};

struct FarLane {
  LaneKind kind = LaneKind::write;
  std::uint32_t other = 0;  // host
  std::uint32_t way = 0;
  ReceiverId receiver{};  // whose credit its chunks take; invalid: nobody's
};

// To a receiver of credit, called by its ReceiverId.
struct CreditLink {
  std::uint32_t host = 0;
  std::uint32_t place = 0;  // of this host among the receiver's senders
  core::CreditCounters counters{};
  bool changed = false;  // and not checked since
};

class Node;

// Where a node's chunks go.
class Sender {
 public:
  virtual ~Sender() = default;
  virtual void send(Node& node, const FarLane& lane, std::uint32_t flight,
                    const core::DispatchChunk& chunk) = 0;
  virtual void demand(Node& node, std::uint32_t receiver, const PeerDemand& demand) = 0;
};

class Node final : public Carrier {
 public:
  Node(std::uint32_t number, HostShape shape, Record* record, Sender* sender)
      : number_(number), sender_(sender) {
    shape.carrier = this;
    host_ = std::make_unique<Host>(shape, record);
  }

  std::uint32_t number() const { return number_; }
  Host& host() { return *host_; }
  const Host& host() const { return *host_; }

  // Lanes are opened in this order.
  std::vector<FarLane> lanes;
  std::unordered_map<std::uint32_t, std::unique_ptr<Serving>> serving;  // by asker

  double uplink_per_ns = 1;
  std::int64_t uplink_free_ns = 0;
  double memory_per_ns = 1;
  std::int64_t jammed_until_ns = 0;
  std::deque<std::uint32_t> arrived;  // cargo that the memory has not taken in
  bool takes_in = false;              // the first of them is being taken in
  std::uint64_t towards_bytes = 0;    // handed over for it, by anybody
  std::uint32_t actor = 0;
  std::uint32_t next_key = 0;  // of its fairness keys
  bool touched = false;        // something happened to it that was not settled yet

  bool legacy = false;                 // does not speak credits
  std::vector<CreditLink> links;       // of what it sends
  std::vector<std::uint32_t> senders;  // hosts that send to it, in order: by their place
  // What it hands out to them: users', internal work's. Empty: it does not speak credits.
  std::vector<std::unique_ptr<core::CreditReceiver>> pools;
  std::int64_t credit_due_ns = kNeverNs;
  std::uint32_t since_check = 0;  // of all that its pools hold

  static std::uint64_t epoch_of(std::uint32_t number, std::uint32_t life) {
    return std::uint64_t{number + 1} << 32 | life;
  }
  std::uint64_t epoch() const { return epoch_of(number_, life_); }
  void begin_life() { life_ += 1; }
  std::optional<std::uint32_t> credit_link(std::uint32_t receiver) const {
    const auto found = std::find_if(links.begin(), links.end(), [receiver](const CreditLink& each) {
      return each.host == receiver;
    });
    if (found == links.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - links.begin());
  }
  std::optional<std::uint32_t> place_of(std::uint32_t sender) const {
    const auto found = std::lower_bound(senders.begin(), senders.end(), sender);
    if (found == senders.end() || *found != sender) return std::nullopt;
    return static_cast<std::uint32_t>(found - senders.begin());
  }

  void post(std::uint32_t lane, std::uint32_t flight, const core::DispatchChunk& chunk) override {
    if (lanes[lane].receiver.valid()) links[lanes[lane].receiver.value()].changed = true;
    sender_->send(*this, lanes[lane], flight, chunk);
  }
  void demand(ReceiverId receiver, const PeerDemand& demand) override {
    sender_->demand(*this, receiver.value(), demand);
  }

 private:
  std::uint32_t number_;
  std::uint32_t life_ = 1;
  Sender* sender_;
  std::unique_ptr<Host> host_;
};

}  // namespace tentq::sim
