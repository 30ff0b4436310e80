// Keeps the windows of flows full. See window_flow.h.
#include "tests/core/window_flow.h"

namespace tentq::core {

// Flows take turns, a chunk each.
void Flows::send() {
  for (bool any = true; any;) {
    any = false;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      Flow& flow = flows[f];
      const std::uint64_t bytes = flow.window.chunk_bytes();
      if (!flow.active || flow.in_flight + bytes > flow.window.bytes()) continue;
      const ChunkMark mark = flow.window.hand_over(bytes, flow.in_flight, now_ns);
      link.post(next_, bytes, now_ns);
      sent_[next_++] = {f, bytes, mark};
      flow.in_flight += bytes;
      any = true;
    }
  }
}

std::uint64_t Flows::run(std::int64_t for_ns) {
  const std::int64_t end_ns = now_ns + for_ns;
  const std::uint64_t before = link.moved_bytes();
  send();
  for (;;) {
    const std::optional<std::int64_t> next = link.next_ns();
    if (!next || *next > end_ns) break;
    now_ns = std::max(now_ns, *next);
    const auto it = sent_.find(link.take());
    const Sent sent = it->second;
    sent_.erase(it);
    Flow& flow = flows[sent.flow];
    flow.in_flight -= sent.bytes;
    flow.moved += sent.bytes;
    if (on_end) on_end(now_ns - sent.mark.handed_over_ns);
    flow.window.sample(sent.mark, sent.bytes, 0, now_ns);
    flow.window.check();
    send();
  }
  now_ns = end_ns;
  return link.moved_bytes() - before;
}

}  // namespace tentq::core
