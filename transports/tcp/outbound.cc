// See outbound.h.
#include "transports/tcp/outbound.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {
namespace {

// A socket that takes heads slower than they come leaves so much behind at most.
constexpr std::size_t kSentKept = 4096;

}  // namespace

void Outbound::append(const void* head, std::size_t bytes) {
  if (heads_sent_ >= kSentKept) {
    heads_.erase(heads_.begin(), heads_.begin() + static_cast<std::ptrdiff_t>(heads_sent_));
    heads_sent_ = 0;
  }
  const auto* first = static_cast<const std::byte*>(head);
  heads_.insert(heads_.end(), first, first + bytes);
}

void Outbound::set_current(TcpChunk* chunk, const void* head, std::size_t bytes) {
  TENTQ_CHECK(current_ == nullptr);
  current_ = chunk;
  std::memcpy(current_head_.data(), head, bytes);
  current_head_bytes_ = bytes;
  current_total_ = bytes + chunk->chunk.length;
  current_sent_ = 0;
}

void Outbound::drop_current() {
  TENTQ_CHECK(current_ != nullptr && current_sent_ == 0);
  current_ = nullptr;
}

std::size_t Outbound::gather(Parts* parts, std::size_t most) const {
  std::size_t count = 0;
  const auto add = [&](const std::byte* from, std::size_t bytes) {
    if (bytes != 0) (*parts)[count++] = {const_cast<std::byte*>(from), bytes};
  };
  // Heads that wait go before a message that has not begun, and behind one that has, if all of it
  // goes along.
  const bool behind = current_ != nullptr && current_sent_ != 0;
  if (!behind) add(heads_.data() + heads_sent_, waiting_head_bytes());
  if (current_ == nullptr) return count;
  std::uint64_t payload_sent = 0;
  if (current_sent_ < current_head_bytes_) {
    add(current_head_.data() + current_sent_, current_head_bytes_ - current_sent_);
  } else {
    payload_sent = current_sent_ - current_head_bytes_;
  }
  const std::uint64_t left = current_->chunk.length - payload_sent;
  add(current_->chunk.local.mapped + payload_sent, std::min<std::uint64_t>(left, most));
  if (behind && left <= most) add(heads_.data() + heads_sent_, waiting_head_bytes());
  return count;
}

std::size_t Outbound::advance_heads(std::size_t bytes) {
  const std::size_t taken = std::min(bytes, waiting_head_bytes());
  heads_sent_ += taken;
  if (heads_sent_ == heads_.size()) {
    heads_.clear();
    heads_sent_ = 0;
  }
  return bytes - taken;
}

TcpChunk* Outbound::advance(std::size_t bytes) {
  if (current_ == nullptr || current_sent_ == 0) bytes = advance_heads(bytes);
  if (current_ == nullptr || bytes == 0) {
    TENTQ_CHECK(bytes == 0);
    return nullptr;
  }
  current_->begun = true;
  const std::uint64_t taken = std::min<std::uint64_t>(bytes, current_left());
  current_sent_ += taken;
  TcpChunk* ended = nullptr;
  if (current_sent_ == current_total_) {
    ended = current_;
    current_ = nullptr;
  }
  TENTQ_CHECK(advance_heads(bytes - taken) == 0);
  return ended;
}

}  // namespace tentq
