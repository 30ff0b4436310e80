// See setup.h.
#include "tests/bench/qos/setup.h"

#include <array>

#include "tests/bench/pair.h"
#include "tests/processes/identity.h"

namespace tentq::bench::qos {
namespace {

constexpr uid_t kFirstUid = 64'000;
constexpr std::size_t kWhollyVerified = 256u << 10;
constexpr std::size_t kPage = 4096;

// The pages of a long owner that are looked at.
std::array<std::size_t, 3> looked_at(std::size_t bytes) {
  return {0, bytes / 2 / kPage * kPage, (bytes - kPage) / kPage * kPage};
}

}  // namespace

bool can_be_several_users() {
  return test::is_root();
}

uid_t uid_of_client(std::uint32_t number) {
  return kFirstUid + number;
}

Client attach(const Setup& setup, const std::string& name, std::optional<uid_t> uid) {
  if (uid) test::become(*uid, *uid);
  ConnectOptions options = connection(setup.socket, name);
  options.background_thread = false;
  options.promise_drive = true;
  options.spin = std::chrono::nanoseconds{0};
  return value_of(Client::connect(options), "connect");
}

bool verify(const Pattern& pattern, std::span<const std::byte> bytes, std::uint64_t offset) {
  if (bytes.size() <= kWhollyVerified) return pattern.matches(bytes, offset);
  for (const std::size_t at : looked_at(bytes.size())) {
    if (!pattern.matches(bytes.subspan(at, kPage), offset + at)) return false;
  }
  return true;
}

void spoil(std::span<std::byte> bytes) {
  if (bytes.size() <= kWhollyVerified) return poison(bytes);
  for (const std::size_t at : looked_at(bytes.size())) poison(bytes.subspan(at, kPage));
}

}  // namespace tentq::bench::qos
