// Many senders and one receiver of credit in virtual time: uplinks with a rate, control messages
// that are lost, doubled, late and overtaken, a receiver that takes bytes in at its own pace,
// restarts. Everything is audited after every event. Bytes and nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "daemon/core/credits/receiver.h"
#include "daemon/core/credits/sender.h"
#include "tests/credits/credit_audit.h"

namespace tentq::core {

struct NetShape {
  std::uint32_t senders = 16;
  CreditRules rules;
  double ingest_per_ns = 0.2;  // bytes
  double uplink_per_ns = 1.25;
  std::int64_t delay_ns = 100'000;  // of a message and of data, one way
  std::uint64_t fixed_window = 0;   // in flight of each sender, in place of credits; 0: credits
  std::uint64_t seed = 1;
};

struct NetFaults {
  double lost = 0;  // of control messages
  double doubled = 0;
  std::int64_t late_ns = 0;  // up to that much, so that messages overtake each other
};

class CreditNet {
 public:
  explicit CreditNet(const NetShape& shape);

  // Chunks of `bytes` to be sent; `cls` for all that the sender has from then on.
  void queue(std::uint32_t sender, std::uint32_t chunks, ClassId cls = ClassId::standard);
  void set_faults(const NetFaults& faults) { faults_ = faults; }
  void set_ingest(double bytes_per_ns) { shape_.ingest_per_ns = bytes_per_ns; }
  // Its connections end; what it had in flight is lost and queued again.
  void restart_receiver();
  void restart_sender(std::uint32_t sender);
  void run_until(std::int64_t until_ns);
  // From now on; see longest_wait_ns().
  void forget_figures();

  std::int64_t now_ns() const { return now_ns_; }
  const CreditReceiver& receiver() const { return receiver_; }
  const CreditSender& sender(std::uint32_t sender) const { return hosts_[sender].credit; }
  std::uint64_t in_flight() const { return in_flight_; }
  std::uint64_t peak_in_flight() const { return peak_; }
  // Chunks that were handed over when more was in flight than the receiver's bound.
  std::uint64_t violations() const { return violations_; }
  std::uint64_t ingested() const { return ingested_; }
  std::uint64_t ingested_of(std::uint32_t sender) const { return hosts_[sender].ingested; }
  std::uint64_t messages() const { return messages_; }
  // Longest time in which a sender had something queued and handed nothing over, until now.
  std::int64_t longest_wait_ns() const;

 private:
  struct Host {
    Host(const CreditRules& rules, std::uint64_t epoch_)
        : credit(rules, CreditPool::user, epoch_), epoch(epoch_) {}
    CreditSender credit;
    std::uint64_t epoch;
    std::uint64_t link = 0;  // data of an earlier one is dropped
    std::uint32_t queued = 0;
    std::uint32_t chunks_in_flight = 0;
    std::deque<CreditMark> marks;
    ClassId cls = ClassId::standard;
    std::int64_t uplink_free_ns = 0;
    std::int64_t waits_since_ns = 0;
    std::int64_t longest_wait_ns = 0;
    std::int64_t timer_ns = kNever_ns;
    std::uint64_t ingested = 0;
  };
  struct Event {
    std::int64_t at_ns;
    std::uint64_t order;
    std::function<void()> act;
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void at(std::int64_t at_ns, std::function<void()> act);
  void send(std::function<void()> arrive);  // a control message
  void hello(std::uint32_t sender);
  void lose_link(std::uint32_t sender);
  void pump_sender(std::uint32_t sender);
  void pump_receiver();
  void hand_over(std::uint32_t sender);
  void arrive(std::uint32_t sender, std::uint64_t link);
  void finish(std::uint32_t sender, std::uint64_t link);
  void note_wait(Host& host) const;
  void audit();

  NetShape shape_;
  NetFaults faults_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t receiver_epoch_ = 1;
  CreditReceiver receiver_;
  std::vector<Host> hosts_;
  std::vector<CreditCounters> sender_counters_;
  std::vector<CreditCounters> entry_counters_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t ingest_free_ns_ = 0;
  std::int64_t receiver_timer_ns_ = kNever_ns;
  std::uint64_t next_epoch_ = 1000;
  std::uint64_t in_flight_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t violations_ = 0;
  std::uint64_t ingested_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace tentq::core
