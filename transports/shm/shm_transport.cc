// See shm_transport.h.
#include "transports/shm/shm_transport.h"

#include "transports/fake/fake_transport.h"

namespace tentq {

struct ShmTransport::Parts {
  FakeTransport copies;
  std::uint32_t workers = 0;
};

ShmTransport::ShmTransport(ShmOptions options)
    : parts_(new Parts{FakeTransport({options.queue_chunks, 0}), options.workers}) {}
ShmTransport::~ShmTransport() = default;
PostOutcome ShmTransport::post(std::span<const Chunk> chunks) {
  return parts_->copies.post(chunks);
}
std::size_t ShmTransport::poll(std::span<Completion> completions) {
  return parts_->copies.poll(completions);
}
void ShmTransport::cancel(ChunkId id) {
  parts_->copies.cancel(id);
}
bool ShmTransport::arm_wakeup() {
  return parts_->copies.arm_wakeup();
}
int ShmTransport::wakeup_fd() const {
  return parts_->copies.wakeup_fd();
}
std::uint32_t ShmTransport::workers() const {
  return parts_->workers;
}

}  // namespace tentq
