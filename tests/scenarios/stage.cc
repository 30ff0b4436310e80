// Commands of scenarios that make something happen.
#include "tests/scenarios/stage.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace tentq::scenarios {
namespace {

using namespace tentq::core;

ClassId class_named(const std::string& name) {
  for (std::size_t c = 0; c < kClassCount; ++c) {
    if (kClassNames[c] == name) return static_cast<ClassId>(c);
  }
  throw std::runtime_error("no such class: " + name);
}

Policy policy_named(const std::string& name) {
  const std::pair<const char*, Policy> policies[] = {{"direct", Policy::direct},
                                                     {"fifo", Policy::fifo},
                                                     {"strict", Policy::strict},
                                                     {"wdrr", Policy::wdrr}};
  for (const auto& [each, policy] : policies) {
    if (name == each) return policy;
  }
  throw std::runtime_error("no such policy: " + name);
}

Reason reason_named(const std::string& name) {
  for (std::uint16_t r = 0; r < kReasonCount; ++r) {
    if (to_string(static_cast<Reason>(r)) == name) return static_cast<Reason>(r);
  }
  throw std::runtime_error("no such reason: " + name);
}

const std::string& word(const Command& command, std::size_t index) {
  if (index >= command.words.size())
    throw std::runtime_error("`" + command.name + "` lacks a word");
  return command.words[index];
}

bool has_word(const Command& command, const std::string& text) {
  return std::find(command.words.begin(), command.words.end(), text) != command.words.end();
}

// The amounts that are named; the others stay.
void read_amounts(const Command& command, Amounts* amounts) {
  const auto& settings = command.settings;
  if (settings.contains("owners")) amounts->owners = parse_bytes(settings.at("owners"));
  if (settings.contains("bytes")) amounts->bytes = parse_bytes(settings.at("bytes"));
  if (settings.contains("extents")) amounts->extents = parse_bytes(settings.at("extents"));
}

std::uint64_t number(const Command& command, const std::string& name, std::uint64_t otherwise) {
  const auto it = command.settings.find(name);
  return it == command.settings.end() ? otherwise : parse_bytes(it->second);
}

}  // namespace

Stage::Stage() {
  shape_.limits = small_limits(64, kGiB);
}

std::vector<std::string> Stage::play(const Block& block) {
  static const std::map<std::string, Action> kActions = {
      {"host", &Stage::host},     {"class", &Stage::set_class},   {"limits", &Stage::limits},
      {"client", &Stage::client}, {"lane", &Stage::lane},         {"open", &Stage::open},
      {"submit", &Stage::submit}, {"complete", &Stage::complete}, {"fail", &Stage::fail},
      {"refuse", &Stage::refuse}, {"lose", &Stage::lose},         {"away", &Stage::away},
      {"back", &Stage::back},     {"late", &Stage::late},         {"cancel", &Stage::cancel},
      {"route", &Stage::route},   {"wish", &Stage::wish},         {"advance", &Stage::advance},
      {"close", &Stage::close},   {"policy", &Stage::policy},     {"drain", &Stage::drain},
      {"resume", &Stage::resume}, {"shutdown", &Stage::shutdown}, {"show", &Stage::show}};
  lines_.clear();
  for (const Command& command : block.commands) {
    const auto action = kActions.find(command.name);
    if (action == kActions.end()) throw std::runtime_error("no such command: " + command.name);
    (this->*action->second)(command);
  }
  return lines_;
}

World& Stage::world() {
  if (!world_) {
    world_ = std::make_unique<World>(shape_);
    world_->on_effect = [this](const Effect& effect) { note(effect); };
  }
  return *world_;
}

// host owners=4 bytes=1MiB reserve=1 policy=strict
void Stage::host(const Command& command) {
  read_amounts(command, &shape_.limits.host);
  shape_.limits.client = shape_.limits.host;
  for (ClassLimits& each : shape_.limits.classes) each.outstanding = shape_.limits.host;
  const std::uint64_t reserve = number(command, "reserve", 0);
  shape_.limits.internal_reserve = {reserve, reserve * kMiB, reserve};
  if (command.settings.contains("policy")) {
    shape_.policy = policy_named(command.settings.at("policy"));
  }
  if (command.settings.contains("route_budget")) {
    shape_.limits.route_budget = Duration{parse_ns(command.settings.at("route_budget"))};
  }
}

// class foreground weight=2 owners=3 cap=1MiB reserve=64KiB strict=1; at run time, once a lane is
// open. What is not named stays.
void Stage::set_class(const Command& command) {
  Limits changed = world_ ? world_->core.limits() : shape_.limits;
  ClassLimits& limits = changed.classes[index_of(class_named(word(command, 0)))];
  read_amounts(command, &limits.outstanding);
  limits.weight = static_cast<std::uint32_t>(number(command, "weight", limits.weight));
  limits.strict = number(command, "strict", limits.strict ? 1 : 0) != 0;
  limits.in_flight_bytes = number(command, "cap", limits.in_flight_bytes);
  limits.reserve_bytes = number(command, "reserve", limits.reserve_bytes);
  change_limits(changed);
}

void Stage::change_limits(const core::Limits& changed) {
  if (!world_) {
    shape_.limits = changed;
    return;
  }
  std::string why;
  const StatusCode status = world_->core.set_limits(changed, &why);
  say("limits " + std::string(to_string(status)) + (why.empty() ? "" : ": " + why));
  world_->take_effects();
}

// client 3 weight=2 cap=1MiB
void Stage::client(const Command& command) {
  ClientChanged event;
  event.client = ClientKey{static_cast<std::uint32_t>(parse_bytes(word(command, 0)))};
  event.weight = static_cast<std::uint32_t>(number(command, "weight", 1));
  event.in_flight_bytes = number(command, "cap", 0);
  world().handle(event);
}

// limits owners=2 age_max=10ms client_cap=1MiB: of the host, at run time
void Stage::limits(const Command& command) {
  Limits changed = world().core.limits();
  read_amounts(command, &changed.host);
  changed.client_in_flight_bytes = number(command, "client_cap", changed.client_in_flight_bytes);
  if (command.settings.contains("age_max")) {
    changed.age_max = Duration{parse_ns(command.settings.at("age_max"))};
  }
  change_limits(changed);
}

// lane 0 window=256KiB chunks=8 chunk=64KiB; an open lane gets another window
void Stage::lane(const Command& command) {
  const auto lane = static_cast<std::uint16_t>(parse_bytes(word(command, 0)));
  world().open_lane(lane, number(command, "window", 256 * kKiB),
                    static_cast<std::uint32_t>(number(command, "chunks", 16)),
                    number(command, "chunk", 64 * kKiB));
}

// open a client=0 classes=foreground,background slots=16
void Stage::open(const Command& command) {
  const std::uint32_t index = static_cast<std::uint32_t>(sessions_.size());
  sessions_[word(command, 0)] = index;
  std::uint32_t mask = kClientClassMask;
  if (command.settings.contains("classes")) {
    mask = 0;
    std::istringstream names(command.settings.at("classes"));
    for (std::string name; std::getline(names, name, ',');) mask |= bit_of(class_named(name));
  }
  world().open_session(index, static_cast<std::uint32_t>(number(command, "client", index)),
                       static_cast<std::uint32_t>(number(command, "slots", 1024)), mask);
}

// submit a foreground 10KiB 20KiB x3 lane=1 deadline=5ms: one call; x3 repeats the last length
void Stage::submit(const Command& command) {
  const std::string& name = word(command, 0);
  const ClassId cls = class_named(word(command, 1));
  std::vector<std::uint64_t> lengths;
  bool routed = true;
  for (std::size_t i = 2; i < command.words.size(); ++i) {
    const std::string& text = command.words[i];
    if (text == "unrouted") {
      routed = false;
    } else if (text == "quietly") {
      quiet_ = true;
    } else if (text[0] == 'x') {
      const std::uint64_t times = parse_bytes(text.substr(1));
      for (std::uint64_t t = 1; t < times; ++t) lengths.push_back(lengths.back());
    } else {
      lengths.push_back(parse_bytes(text));
    }
  }
  std::vector<OwnerSpec> specs;
  for (const std::uint64_t length : lengths) {
    OwnerSpec spec =
        world().spec(session(name), length, static_cast<std::uint16_t>(number(command, "lane", 0)));
    spec.internal = cls == ClassId::internal;
    if (!routed) spec.lane = LaneId{};
    if (command.settings.contains("deadline")) {
      spec.deadline = Duration{parse_ns(command.settings.at("deadline"))};
    }
    if (command.settings.contains("wait")) {
      spec.max_queue_wait = Duration{parse_ns(command.settings.at("wait"))};
    }
    slots_[{session(name), std::uint64_t{spec.slot_generation} << 32 | spec.slot}] =
        name + std::to_string(++counts_[name]);
    specs.push_back(spec);
  }
  world().submit(session(name), cls, specs);
  quiet_ = false;
}

// The oldest n chunks in flight, or all; of one lane or one owner when that is said.
std::vector<DispatchChunk> Stage::chosen_chunks(const Command& command) const {
  std::vector<DispatchChunk> chunks;
  for (const DispatchChunk& chunk : world_->in_flight) {
    const auto lane = command.settings.find("lane");
    const auto of = command.settings.find("of");
    if (lane != command.settings.end() && chunk.lane.value() != parse_bytes(lane->second)) continue;
    if (of != command.settings.end() && owner_name(chunk.chunk.owner) != of->second) continue;
    chunks.push_back(chunk);
  }
  const bool all = command.words.empty() || command.words[0] == "all";
  const std::uint64_t most = all ? chunks.size() : parse_bytes(command.words[0]);
  if (chunks.size() < most) throw std::runtime_error("fewer chunks are in flight");
  chunks.resize(most);
  return chunks;
}

// complete 2, complete all, complete all lane=1; `complete steps=60 quietly`: one after the other
void Stage::complete(const Command& command) {
  quiet_ = has_word(command, "quietly");
  for (std::uint64_t i = 0; i < number(command, "steps", 0); ++i) {
    if (world().in_flight.empty()) break;
    world().end_oldest();
  }
  if (!command.settings.contains("steps")) {
    for (const DispatchChunk& chunk : chosen_chunks(command)) {
      last_ended_ = chunk.chunk;
      world().end_chunk(chunk.chunk);
    }
  }
  quiet_ = false;
}

// fail 1 memory_fault
void Stage::fail(const Command& command) {
  const Reason reason = reason_named(word(command, 1));
  for (const DispatchChunk& chunk : chosen_chunks(command)) {
    last_ended_ = chunk.chunk;
    world().end_chunk(chunk.chunk, reason);
  }
}

void Stage::refuse(const Command& command) {
  for (const DispatchChunk& chunk : chosen_chunks(command)) world().refuse_chunk(chunk.chunk);
}

// The way broke while they were on it.
void Stage::lose(const Command& command) {
  for (const DispatchChunk& chunk : chosen_chunks(command)) world().lose_chunk(chunk.chunk);
}

// away 0: the way of a lane is broken
void Stage::away(const Command& command) {
  world().handle(LaneAway{LaneId{static_cast<std::uint16_t>(parse_bytes(word(command, 0)))}});
}

void Stage::back(const Command& command) {
  world().handle(LaneBack{LaneId{static_cast<std::uint16_t>(parse_bytes(word(command, 0)))}});
}

// The chunk that ended last is reported once more.
void Stage::late(const Command&) {
  if (!last_ended_) throw std::runtime_error("no chunk has ended");
  const std::uint64_t before = world().core.state_hash();
  world().handle(ChunkEnded{*last_ended_, 1, Reason::none});
  say(world().core.state_hash() == before ? "nothing changed" : "something changed");
}

void Stage::cancel(const Command& command) {
  world().cancel(owner(word(command, 0)));
}

// route a1 lane=1, route a1 failed=peer_lost
void Stage::route(const Command& command) {
  const OwnerId id = owner(word(command, 0));
  if (command.settings.contains("failed")) {
    world().handle(RouteFailed{id, reason_named(command.settings.at("failed"))});
    return;
  }
  world().handle(RouteResolved{id, LaneId{static_cast<std::uint16_t>(number(command, "lane", 0))},
                               RegionIndex{2}, 0});
}

// wish a foreground owners=4 bytes=64KiB waiting
void Stage::wish(const Command& command) {
  Amounts wanted;
  read_amounts(command, &wanted);
  wanted.extents = std::max(wanted.extents, wanted.owners);
  world().want(session(word(command, 0)), class_named(word(command, 1)), wanted,
               has_word(command, "waiting"));
}

// advance 5ms: a tick then, and at every deadline on the way
void Stage::advance(const Command& command) {
  const Time until = world().now + Duration{parse_ns(word(command, 0))};
  while (world().core.next_deadline() && *world().core.next_deadline() <= until) {
    world().advance_to_deadline();
  }
  world().now = until;
  world().handle(Tick{});
}

void Stage::close(const Command& command) {
  world().close(session(word(command, 0)));
}

void Stage::policy(const Command& command) {
  if (world().core.set_policy(policy_named(word(command, 0))) != StatusCode::ok) {
    throw std::runtime_error("the policy was refused");
  }
  world().take_effects();
}

void Stage::drain(const Command&) {
  world().handle(DrainRequested{});
}
void Stage::resume(const Command&) {
  world().handle(ResumeRequested{});
}
void Stage::shutdown(const Command&) {
  world().handle(ShutdownRequested{});
}

// show queue; show credit a foreground; show a1; show bytes
void Stage::show(const Command& command) {
  const std::string& what = word(command, 0);
  if (what == "queue") return show_queue();
  if (what == "bytes") return show_bytes();
  if (what == "credit") {
    Command rest = command;
    rest.words.erase(rest.words.begin());
    return show_credit(rest);
  }
  show_owner(command);
}

void Stage::show_credit(const Command& command) {
  const ClassId cls = class_named(word(command, 1));
  const CreditKey key{session(word(command, 0)), index_of(cls)};
  const Amounts& granted = world().granted[key];
  const Amounts& consumed = world().consumed[key];
  const std::uint64_t owners =
      granted.owners > consumed.owners ? granted.owners - consumed.owners : 0;
  say(word(command, 0) + " may submit " + std::to_string(owners) + " owners as " +
      word(command, 1));
}

}  // namespace tentq::scenarios
