// Another host's bytes on a data connection, as a connection takes them: each head is checked, its
// payload goes to memory of exactly its length, and what arrives there is what was sent. The first
// byte says which side it is, the second how the bytes are cut.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/pieces.h"
#include "transports/tcp/inbound.h"

namespace tentq::fuzz {
namespace {

constexpr std::uint64_t kMostLength = 4096;

struct Stream {
  Stream(TcpSide side, const Pieces& input, std::size_t most)
      : in(side), bytes(input), piece(most) {}

  Inbound in;
  Pieces bytes;
  std::size_t piece;
  std::vector<std::byte> waste = std::vector<std::byte>(64);
  std::unique_ptr<std::byte[]> payload;  // null: thrown away
  std::uint64_t length = 0;
  std::vector<std::uint8_t> sent;  // of the payload, as far as it came
};

// False: the connection would be given up.
bool take_head(Stream* stream) {
  std::string_view fault;
  std::uint64_t length = 0;
  const auto head = stream->in.head();
  const PeerMessageType type = stream->in.head_type();
  if (type == PeerMessageType::write) {
    const auto write = copy_head<PeerWrite>(head);
    fault = fault_of(write, kMostLength);
    length = write.length;
  } else if (type == PeerMessageType::read) {
    fault = fault_of(copy_head<PeerRead>(head), kMostLength);
  } else if (type == PeerMessageType::done) {
    fault = fault_of(copy_head<PeerDone>(head));
  } else {
    const auto piece = copy_head<PeerData>(head);
    fault = fault_of(piece);
    // One lies within its READ, which was no longer than this; else it is a fault.
    if (piece.length > kMostLength) return false;
    length = piece.length;
  }
  if (!fault.empty()) return false;
  stream->in.end_head();
  if (length == 0) return true;
  must(length <= kMostLength);
  const bool wanted = length % 5 != 0;
  stream->payload = wanted ? std::make_unique<std::byte[]>(length) : nullptr;
  stream->length = length;
  stream->sent.clear();
  stream->in.start_payload(stream->payload.get(), length);
  return true;
}

// False: nothing is left of the input.
bool fill(Stream* stream) {
  Inbound::Parts parts;
  const std::size_t count = stream->in.want(&parts, stream->waste, stream->piece);
  must(count >= 1 && count <= parts.size());
  const bool in_payload = stream->in.in_payload();
  std::size_t got = 0, room = 0;
  for (std::size_t i = 0; i < count; ++i) {
    room += parts[i].iov_len;
    const auto taken = stream->bytes.take(std::min(parts[i].iov_len, stream->piece - got));
    std::memcpy(parts[i].iov_base, taken.data(), taken.size());
    if (in_payload && i == 0) {
      stream->sent.insert(stream->sent.end(), taken.begin(), taken.end());
    }
    got += taken.size();
    if (got == stream->piece || taken.size() < parts[i].iov_len) break;
  }
  must(room > 0);
  const auto wanted = stream->in.got(got);
  must(wanted.size() <= got);
  return got != 0;
}

void end_payload(Stream* stream) {
  must(stream->sent.size() == stream->length);
  if (stream->payload) {
    must(std::memcmp(stream->payload.get(), stream->sent.data(), stream->length) == 0);
  }
  stream->in.end_payload();
  stream->payload.reset();
}

}  // namespace
}  // namespace tentq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tentq;
  using namespace tentq::fuzz;
  Pieces input(data, size);
  const TcpSide side = input.byte() % 2 == 0 ? TcpSide::dialer : TcpSide::acceptor;
  const std::size_t piece = input.byte() + std::size_t{1};
  Stream stream(side, input, piece);
  while (fill(&stream)) {
    if (stream.in.payload_complete()) end_payload(&stream);
    if (stream.in.head_is_foreign()) break;
    if (stream.in.in_payload() || !stream.in.head_complete()) continue;
    if (!take_head(&stream)) break;
  }
  return 0;
}
