// What must hold for anybody who looks at the core from outside, whatever the core says about
// itself: every byte of an owner is handed over once, each owner ends once, no lane has more than
// its window and foreground's room in flight, and no lane idles while something waits for it.
#pragma once

#include <cstdint>
#include <map>

#include "daemon/core/core.h"
#include "tests/sim/record.h"

namespace tentq::sim {

class Audit {
 public:
  explicit Audit(Violations* violations) : violations_(violations) {}

  // An owner of that length was submitted; its end has to come.
  void submitted(SessionId session, std::uint32_t slot, std::uint64_t length);
  void admitted(const core::OwnerAdmitted& admission, std::int64_t now_ns);
  // A chunk goes; `in_flight` is what its lane has then, with it.
  void dispatched(const core::DispatchChunk& chunk, std::uint64_t in_flight,
                  const core::LaneTotals& lane, core::Policy policy, std::int64_t now_ns);
  void returned(const core::DispatchChunk& chunk);
  // It did not arrive, and goes again in pieces of any length.
  void lost(const core::DispatchChunk& chunk);
  // Owners are outstanding as before, and nothing of them was handed over.
  void restarted();
  // The owner is no more, without an end.
  void forgotten(SessionId session, std::uint32_t slot) { open_.erase({session.value(), slot}); }
  void ended(const core::OwnerEnded& end, std::int64_t now_ns);
  // Nothing more is to be done at this time: what waits, waits for something.
  void settled(LaneId id, const core::LaneTotals& lane, bool client_caps, std::int64_t now_ns);
  // The run is over and nothing is outstanding.
  void over(const core::Core& core, std::int64_t now_ns);

 private:
  using SlotKey = std::pair<std::uint32_t, std::uint32_t>;  // session, slot
  struct Open {
    std::uint64_t length = 0;
    std::uint64_t handed = 0;                     // offsets [0, handed)
    std::uint64_t returned = 0;                   // bytes
    std::map<std::uint64_t, std::uint64_t> lost;  // below `handed`, to go again: offset, length
  };
  static bool follows(Open* owner, const core::DispatchChunk& chunk);
  void violated(std::int64_t now_ns, const std::string& what) { violations_->add(now_ns, what); }

  Violations* violations_;
  std::map<SlotKey, Open> open_;
  std::map<OwnerId, SlotKey> slots_;
};

}  // namespace tentq::sim
