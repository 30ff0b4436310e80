// Runs a scenario of several hosts in virtual time. Data leaves by its host's uplink, travels,
// waits for the receiver's memory and is taken in; the sender hears of it one way later. A READ is
// asked for and served through the other host's core. Ways break and come back, hosts restart. Same
// scenario and seed: the same record.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "tests/sim/agenda.h"
#include "tests/sim/load.h"
#include "tests/sim/net/node.h"
#include "tests/sim/net/timeline.h"
#include "tests/sim/net/ways.h"

namespace tentq::sim {

class Network final : public Sender {
 public:
  // Throws std::invalid_argument when the core does not take the limits.
  explicit Network(const Scenario& scenario);
  Record run();

 private:
  // Data on its way to a host.
  struct Cargo {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t flight = 0;  // of the sender's host
    std::uint32_t way = 0;
    std::uint32_t read = kNoRead;  // that it answers
    std::uint64_t bytes = 0;
    std::int64_t leaves_ns = 0;
    bool live = false;
    bool fenced = false;  // its link is over
  };
  // Asked for, and not all there.
  struct Read {
    std::uint32_t asker = 0;
    std::uint32_t server = 0;
    std::uint32_t flight = 0;  // of the asker's host
    std::uint32_t way = 0;
    ClassId cls = ClassId::standard;
    std::uint64_t bytes = 0;
    std::uint64_t received = 0;
    bool live = false;
    bool arrived = false;  // at the server
  };
  // A chunk whose link is over. It may go again when nothing of it can arrive any more.
  struct Stranded {
    std::uint32_t node = 0;
    std::uint32_t flight = 0;
  };
  // Of one daemon to another: `link` is the sender's of the demand, to whom a grant goes back.
  struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t link = 0;
    std::variant<PeerDemand, PeerGrant> what;
  };
  static constexpr std::uint32_t kNoRead = UINT32_MAX;

  // build.cc
  void build_nodes();
  void plan_lanes();
  void plan_credits();
  void make_pools(Node& node);
  std::uint32_t lane_between(std::uint32_t from, std::uint32_t to, LaneKind kind);
  core::HardMaxima maxima_of_node(std::uint32_t number) const;
  void add_node(std::uint32_t number, std::uint32_t group, bool legacy);
  void open_lanes(Node& node, std::uint32_t first_lane);
  void enter_actor(std::uint32_t actor, Load* load, Node* node);
  void open_group(std::uint32_t group, std::uint32_t first_client);
  void open_session(const LoadShape& shape, Node& node, std::uint32_t client, ClientKey key);

  // network.cc
  void happen(const Timeline::Event& event);
  void touch(std::uint32_t node);
  void settle();
  void settle(Node& node);
  bool idle();
  void apply_changes();
  void apply(const Change& change);
  void finish();

  // traffic.cc
  void send(Node& node, const FarLane& lane, std::uint32_t flight,
            const core::DispatchChunk& chunk) override;
  void ask(Node& node, const FarLane& lane, std::uint32_t flight, const core::DispatchChunk& chunk);
  void note_towards(Node& receiver, std::uint64_t bytes);
  void asked(std::uint32_t read);
  void arrives(std::uint32_t cargo);
  void take_in(Node& node);
  void is_in(std::uint32_t node);
  void is_done(std::uint32_t cargo);
  void drop(std::uint32_t cargo);

  // credits.cc
  void say_hello(std::uint32_t from, std::uint32_t to);
  void demand(Node& node, std::uint32_t receiver, const PeerDemand& demand) override;
  void grant(Node& node, const PeerGrant& grant, std::uint32_t place);
  void post_message(const Message& message, std::uint64_t bytes);
  void plan_message(const Message& message, std::int64_t delay_ns);
  void message_arrives(std::uint32_t message);
  void settle_credits(Node& node);
  void check_pool(Node& node, const core::CreditReceiver& pool);
  void check_link(Node& node, std::uint32_t link);
  void check_towards(const Node& receiver);
  void guarded(const std::function<void()>& body);

  // breaks.cc
  void way_over(std::uint32_t way);
  void way_back(std::uint32_t way);
  void given_up(std::uint32_t way);
  void set_away(const Way& way, std::uint32_t index, bool away);
  void block(std::uint32_t way, std::int64_t for_ns);
  void restart(Node& node, std::int64_t for_ns);

  Scenario scenario_;
  Record record_;
  Agenda agenda_;
  Timeline timeline_;
  Ways ways_;
  std::int64_t now_ns_ = 0;
  std::uint32_t changes_actor_;
  std::size_t next_change_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::vector<CreditLink>> planned_links_;       // by host
  std::vector<std::vector<std::uint32_t>> planned_senders_;  // by host
  std::vector<std::vector<FarLane>> planned_;                // by host, until they are opened
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> lane_numbers_;  // of from, to, kind
  std::vector<std::vector<std::vector<std::uint32_t>>> client_lanes_;   // [group][place on hosts]
  std::uint32_t served_client_ = 0;  // of the record: READs of other hosts
  std::vector<std::unique_ptr<Load>> loads_;
  std::vector<std::uint32_t> load_clients_;
  std::vector<Load*> by_actor_;  // null: not a load
  std::vector<Node*> actor_nodes_;
  std::vector<Cargo> cargo_;
  std::vector<std::uint32_t> free_cargo_;
  std::vector<Read> reads_;
  std::vector<std::uint32_t> free_reads_;
  std::vector<std::vector<Stranded>> stranded_;  // by way
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::mt19937_64 random_;  // what becomes of messages
  std::vector<std::uint32_t> touched_;
};

}  // namespace tentq::sim
