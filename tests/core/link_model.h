// A link in virtual time, for what windows do on it: one server with a rate, a delay behind it that
// bytes spend on the way, jitter from a seed, and acknowledgements that come in bursts. What is
// handed over waits in a queue without a bound. Bytes and nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <random>
#include <vector>

namespace tentq::core {

struct LinkShape {
  double bytes_per_ns = 1;
  std::int64_t delay_ns = 20'000;  // behind the server; any number of chunks are there at once
  std::int64_t jitter_ns = 0;      // uniform in [0, jitter_ns), of each chunk; order may change
  std::int64_t ack_burst_ns = 0;   // ends are seen only at multiples of this; 0: at once
  std::uint64_t seed = 1;
};

// Chunks are known by a number that the caller chose.
class LinkModel {
 public:
  explicit LinkModel(const LinkShape& shape) : shape_(shape), random_(shape.seed) {}

  // Holds from the next chunk that the server begins.
  void set_rate(double bytes_per_ns) { shape_.bytes_per_ns = bytes_per_ns; }
  void set_delay(std::int64_t delay_ns) { shape_.delay_ns = delay_ns; }
  // Nothing comes back before that time.
  void jam_until(std::int64_t until_ns) { jammed_until_ns_ = until_ns; }
  void post(std::uint64_t chunk, std::uint64_t bytes, std::int64_t now_ns);

  // When the next chunk comes back; nullopt: nothing is under way.
  std::optional<std::int64_t> next_ns();
  // The chunk that comes back then.
  std::uint64_t take();
  std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  struct Waiting {
    std::uint64_t chunk;
    std::uint64_t bytes;
    std::int64_t posted_ns;
  };
  struct Back {
    std::int64_t at_ns;
    std::uint64_t order;
    std::uint64_t chunk;
    std::uint64_t bytes;
    bool operator>(const Back& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  void serve();

  LinkShape shape_;
  std::mt19937_64 random_;
  std::deque<Waiting> queue_;
  std::priority_queue<Back, std::vector<Back>, std::greater<>> back_;
  std::int64_t free_ns_ = 0;  // when the server has done what it began
  std::int64_t jammed_until_ns_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t moved_bytes_ = 0;
};

}  // namespace tentq::core
