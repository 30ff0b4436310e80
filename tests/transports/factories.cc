// See factories.h.
#include "tests/transports/factories.h"

#include <utility>

#include "tests/transports/tcp_pair.h"
#include "transports/fake/fake_transport.h"
#include "transports/fault/fault_transport.h"
#include "transports/paced/paced_transport.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_options.h"

namespace tentq::test {
namespace {

// A decorator with what it decorates, and the clock of one that paces.
class Decorated final : public Transport {
 public:
  Decorated(std::unique_ptr<Transport> inner, FaultOptions options)
      : inner_(std::move(inner)),
        outer_(std::make_unique<FaultTransport>(inner_.get(), std::move(options))) {}
  Decorated(std::unique_ptr<Transport> inner, PacedOptions options)
      : inner_(std::move(inner)),
        outer_(std::make_unique<PacedTransport>(inner_.get(), &clock_, options)) {}
  std::string_view name() const override { return outer_->name(); }
  PostOutcome post(std::span<const Chunk> chunks) override { return outer_->post(chunks); }
  std::size_t poll(std::span<Completion> out) override { return outer_->poll(out); }
  void cancel(ChunkId id) override { outer_->cancel(id); }
  bool arm_wakeup() override { return outer_->arm_wakeup(); }
  int wakeup_fd() const override { return outer_->wakeup_fd(); }

 private:
  HostPaceClock clock_;
  std::unique_ptr<Transport> inner_;
  std::unique_ptr<Transport> outer_;
};

std::unique_ptr<Transport> fake(std::uint32_t capacity) {
  return std::make_unique<FakeTransport>(FakeOptions{capacity, 0});
}

std::unique_ptr<Transport> shm(std::uint32_t capacity, std::uint32_t workers, Duration spin) {
  ShmOptions options;
  options.queue_chunks = capacity;
  options.workers = workers;
  options.spin = spin;
  options.piece_bytes = 48u << 10;
  options.cache_bytes = 1u << 20;
  return std::make_unique<ShmTransport>(options);
}

constexpr std::uint64_t kLinkRate = 500'000'000;  // bytes per second
constexpr std::uint64_t kInstantRate = std::uint64_t{1} << 60;

// Pieces of READs that are smaller than the suite's large chunks.
constexpr std::uint64_t kServedPiece = 96u << 10;

std::unique_ptr<Transport> tcp(std::uint64_t connections, TcpOptions options,
                               bool encrypted = false) {
  return std::make_unique<TcpPair>(options, connections, kServedPiece, encrypted);
}

// Within what the seam allows: refusals that change nothing, late and reordered completions.
FaultOptions unruly() {
  FaultOptions options;
  options.saturated = 100;
  options.delayed = 200;
  options.delay_polls = 4;
  options.reorder = true;
  options.seed = 20'240'611;
  return options;
}

}  // namespace

std::vector<Factory> all_factories() {
  using std::chrono::microseconds;
  return {
      {"fake", fake},
      {"fake_one_at_a_time",
       [](auto capacity) {
         return std::make_unique<FakeTransport>(FakeOptions{capacity, 1});
       }},
      {"shm", [](auto capacity) { return shm(capacity, 0, microseconds(20)); }},
      {"shm_sleeping_workers", [](auto capacity) { return shm(capacity, 3, microseconds(0)); }},
      {"fault_off_fake",
       [](auto capacity) { return std::make_unique<Decorated>(fake(capacity), FaultOptions{}); }},
      {"fault_off_shm",
       [](auto capacity) {
         return std::make_unique<Decorated>(shm(capacity, 2, microseconds(20)), FaultOptions{});
       }},
      {"unruly_fake",
       [](auto capacity) { return std::make_unique<Decorated>(fake(capacity), unruly()); }},
      {"unruly_shm",
       [](auto capacity) {
         return std::make_unique<Decorated>(shm(capacity, 2, microseconds(20)), unruly());
       }},
      {"paced_fake",
       [](auto capacity) {
         return std::make_unique<Decorated>(fake(capacity), PacedOptions{kLinkRate, capacity});
       }},
      // So fast that a sleeper waits for the bytes alone: woken, it finds them.
      {"paced_shm",
       [](auto capacity) {
         return std::make_unique<Decorated>(shm(capacity, 2, microseconds(20)),
                                            PacedOptions{kInstantRate, capacity});
       }},
      {"tcp", [](auto capacity) { return tcp(1, {.queue_chunks = capacity}); }},
      {"tcp_three_connections_checked",
       [](auto capacity) {
         return tcp(3, {.threads = 2, .queue_chunks = capacity, .checksum = true});
       }},
      {"tcp_conductor_receives",
       [](auto capacity) {
         return tcp(2, {.queue_chunks = capacity, .conductor_receives = true, .checksum = true});
       }},
      {"tcp_over_tls", [](auto capacity) { return tcp(1, {.queue_chunks = capacity}, true); }},
      {"tcp_over_tls_two_connections_checked",
       [](auto capacity) {
         return tcp(2, {.threads = 2, .queue_chunks = capacity, .checksum = true}, true);
       }},
      {"tcp_by_threads_alone",
       [](auto capacity) {
         return tcp(2, {.queue_chunks = capacity,
                        .reads_per_connection = 2,
                        .inline_bytes = 0,
                        .inline_turn_bytes = 0});
       }},
  };
}

}  // namespace tentq::test
