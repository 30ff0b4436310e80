// A client's packet: what is taken has the size of its type, and every text in it ends.
#include <memory>

#include "daemon/messages.h"
#include "tests/fuzz/pieces.h"

namespace tentq::fuzz {
namespace {

void check(const Hello& m) {
  must(m.name.view().size() < sizeof m.name);
}
void check(const RegisterRegion& m) {
  must(m.scope_name.view().size() < sizeof m.scope_name);
}
void check(const OpenSegment& m) {
  must(m.name.view().size() < sizeof m.name);
}
void check(const Query& m) {
  must(m.argument.view().size() < sizeof m.argument);
}
void check(const Command& m) {
  must(m.argument.view().size() < sizeof m.argument);
}
template <class Message>
void check(const Message&) {}

}  // namespace
}  // namespace tentq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tentq::fuzz;
  // Of its own: a byte read behind it is seen.
  const auto packet = std::make_unique<std::byte[]>(size);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, packet.get());
  const auto message = tentq::parse_message({packet.get(), size});
  if (!message) return 0;
  std::visit(
      [size](const auto& m) {
        must(m.header.bytes == size && sizeof m == size);
        check(m);
      },
      *message);
  return 0;
}
