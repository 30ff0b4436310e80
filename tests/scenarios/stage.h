// Plays the commands of a scenario on a core and writes down, line by line, what the core asks for.
// Sessions and owners have names: the third owner of session `a` is `a3`. One thread, virtual time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/world.h"
#include "tests/scenarios/script.h"

namespace tentq::scenarios {

class Stage {
 public:
  Stage();
  // What happened, in order. Throws std::runtime_error on a command that it does not know.
  std::vector<std::string> play(const Block& block);

 private:
  using Action = void (Stage::*)(const Command&);

  // Before the first lane or session: limits and policy.
  void host(const Command& command);
  void set_class(const Command& command);
  void limits(const Command& command);
  void client(const Command& command);
  // Events.
  void lane(const Command& command);
  void open(const Command& command);
  void submit(const Command& command);
  void complete(const Command& command);
  void fail(const Command& command);
  void refuse(const Command& command);
  void lose(const Command& command);
  void away(const Command& command);
  void back(const Command& command);
  void late(const Command& command);
  void cancel(const Command& command);
  void route(const Command& command);
  void wish(const Command& command);
  void advance(const Command& command);
  void close(const Command& command);
  void policy(const Command& command);
  void drain(const Command& command);
  void resume(const Command& command);
  void shutdown(const Command& command);
  // Questions.
  void show(const Command& command);
  void show_credit(const Command& command);
  void show_queue();
  void show_owner(const Command& command);
  void show_bytes();

  core::World& world();
  void change_limits(const core::Limits& changed);
  void note(const core::Effect& effect);
  void note_end(const core::OwnerEnded& end);
  void say(const std::string& line) { lines_.push_back(line); }
  std::uint32_t session(const std::string& name) const;
  const std::string& name_of(SessionId session) const;
  std::string owner_name(const OwnerId& owner) const;
  OwnerId owner(const std::string& name) const;
  std::vector<core::DispatchChunk> chosen_chunks(const Command& command) const;

  core::WorldShape shape_;
  std::unique_ptr<core::World> world_;
  std::vector<std::string> lines_;
  std::map<std::string, std::uint32_t> sessions_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> slots_;  // (session, slot key)
  std::map<OwnerId, std::string> owners_;
  std::map<std::string, int> counts_;
  std::map<std::string, std::uint64_t> served_;  // bytes handed over, by session
  std::optional<ChunkId> last_ended_;
  bool quiet_ = false;
};

}  // namespace tentq::scenarios
