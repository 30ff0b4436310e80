// See serving.h.
#include "tests/sim/net/serving.h"

namespace tentq::sim {

Serving::Serving(Host* host, std::uint32_t client, ClientKey key, std::uint32_t lane)
    : host_(host), lane_(lane) {
  SessionShape shape;
  shape.client = client;
  shape.key = key;
  shape.slots = kMostReads;
  shape.counted = false;
  session_ = host->open_session(shape, this);
}

bool Serving::submit(const Read& read, ClassId cls) {
  return host_->submit(session_, cls, lane_, read.bytes, host_->now_ns(), RegionIndex{read.read});
}

void Serving::asked(std::uint32_t read, ClassId cls, std::uint64_t bytes) {
  std::deque<Read>& waiting = waiting_[index_of(cls)];
  if (waiting.empty() && submit({read, bytes}, cls)) return;
  if (waiting.empty()) host_->wish(session_, cls, bytes, true);
  waiting.push_back({read, bytes});
}

void Serving::submit_waiting() {
  for (std::size_t c = 0; c < kMaxClasses; ++c) {
    std::deque<Read>& waiting = waiting_[c];
    const ClassId cls = static_cast<ClassId>(c);
    while (!waiting.empty() && submit(waiting.front(), cls)) waiting.pop_front();
    if (!waiting.empty()) host_->wish(session_, cls, waiting.front().bytes, true);
  }
}

void Serving::drop() {
  for (std::deque<Read>& waiting : waiting_) waiting.clear();
  host_->cancel_all(session_);
}

// Its slot may be what another READ waits for.
void Serving::ended(const core::OwnerEnded&, std::int64_t) {
  submit_waiting();
}

}  // namespace tentq::sim
