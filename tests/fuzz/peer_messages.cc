// Another host's bytes on a control connection: however they are cut into pieces, they are the same
// messages, then the same fault. The first byte says how they are cut.
#include <cstring>
#include <string>
#include <vector>

#include "daemon/peers/parser.h"
#include "tests/fuzz/pieces.h"

namespace tentq::fuzz {
namespace {

struct Heard {
  std::vector<std::string> messages;  // as bytes
  bool broken = false;
  std::string why;

  bool operator==(const Heard&) const = default;
};

std::string bytes_of(const PeerMessage& message) {
  return std::visit(
      [](const auto& m) { return std::string(reinterpret_cast<const char*>(&m), sizeof m); },
      message);
}

Heard hear(Pieces bytes, std::size_t piece) {
  PeerParser parser;
  Heard heard;
  while (true) {
    PeerMessage message;
    switch (parser.next(&message)) {
      case PeerParser::Step::message:
        must(fault_of(message).empty());
        heard.messages.push_back(bytes_of(message));
        break;
      case PeerParser::Step::broken:
        must(!parser.why().empty());
        must(parser.next(&message) == PeerParser::Step::broken);
        heard.broken = true;
        heard.why = parser.why();
        return heard;
      case PeerParser::Step::more: {
        const std::span<std::byte> room = parser.room();
        must(!room.empty());
        const auto taken = bytes.take(std::min(piece, room.size()));
        if (taken.empty()) return heard;
        std::memcpy(room.data(), taken.data(), taken.size());
        parser.added(taken.size());
        break;
      }
    }
  }
}

}  // namespace
}  // namespace tentq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tentq::fuzz;
  Pieces input(data, size);
  const std::size_t piece = input.byte() + std::size_t{1};
  must(hear(input, piece) == hear(input, input.size() + 1));
  return 0;
}
