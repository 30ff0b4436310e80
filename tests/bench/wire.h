// The least that two processes can do to have bytes copied: a ring of cache lines each way and one
// memcpy by the other process. The limit of the latency command.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tentq::bench {

// One line; `sequence` is stored last (release) and awaited (acquire) by the other side.
struct alignas(64) WireLine {
  std::atomic<std::uint64_t> sequence{0};
  std::uint64_t to = 0;    // offset in the destination, bytes
  std::uint64_t from = 0;  // offset in the source, bytes
  std::uint64_t length = 0;
};
static_assert(sizeof(WireLine) == 64);

inline constexpr std::uint64_t kWireLines = 64;
// Zeroed in shared memory; used again and again without a reset.
struct Wire {
  WireLine requests[kWireLines];
  WireLine answers[kWireLines];
};

// Spinning waits end after 30 s without an answer, so that a dead other side ends this one.
// Throws std::runtime_error then.
class WireCaller {
 public:
  explicit WireCaller(Wire* wire) : wire_(wire) {}
  // Has [from, from + length) of the source copied to `to` of the destination; returns when it is.
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t length);

 private:
  Wire* wire_;
  std::uint64_t next_ = 0;
};

class WireServer {
 public:
  WireServer(Wire* wire, std::byte* destination, const std::byte* source)
      : wire_(wire), destination_(destination), source_(source) {}
  // Answers `count` calls.
  void serve(std::uint64_t count);

 private:
  Wire* wire_;
  std::byte* destination_;
  const std::byte* source_;
  std::uint64_t next_ = 0;
};

// Tells the processor that this is a spinning wait.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Throws once a spinning wait has gone on for 30 s. Looks at the clock, and offers its core to
// others, so rarely that an undisturbed wait of some microseconds does neither.
class SpinLimit {
 public:
  void turn() {
    spin_pause();
    if ((++turns_ & 0xfff) == 0) check();
  }

 private:
  void check();
  std::uint64_t turns_ = 0;
  std::int64_t since_ns_ = 0;
};

}  // namespace tentq::bench
