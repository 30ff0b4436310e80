// Keepalive and messages of a link. See link.h.
#include "daemon/peers/link.h"

namespace tentq {
namespace {

// Who may send it after READY.
bool may_come(LinkSide side, PeerMessageType type) {
  switch (type) {
    case PeerMessageType::refused:
    case PeerMessageType::ping:
    case PeerMessageType::pong:
    case PeerMessageType::demand:
    case PeerMessageType::grant: return true;
    case PeerMessageType::open_segment:
    case PeerMessageType::close_segment:
    case PeerMessageType::list_regions:
    case PeerMessageType::notify:
    case PeerMessageType::fence: return side == LinkSide::accepted;
    case PeerMessageType::segment:
    case PeerMessageType::regions:
    case PeerMessageType::notified:
    case PeerMessageType::fenced: return side == LinkSide::dialed;
    case PeerMessageType::hello:
    case PeerMessageType::proof:
    case PeerMessageType::ready:
    case PeerMessageType::write:
    case PeerMessageType::done:
    case PeerMessageType::read:
    case PeerMessageType::data: return false;
  }
  return false;
}

}  // namespace

Link::Link(boost::asio::io_context& io, Host& host, LinkKey key, PeerLink peer,
           std::shared_ptr<PeerConnection> control, Duration timeout)
    : backoff(key.value()),
      pause(io),
      host_(host),
      key_(key),
      peer_(std::move(peer)),
      control_(std::move(control)),
      keepalive_(io),
      third_(timeout / 3) {}

void Link::start() {
  tick();
  if (peer_.side == LinkSide::accepted) control_->answers();
  control_->read_by(this);
  control_->resume();
}

// Three silent thirds in a row, and not the time since the last byte: when this process itself was
// held up, what came meanwhile is read before the next third ends.
void Link::tick() {
  keepalive_.expires_after(third_);
  keepalive_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->stopped_) return;
    const bool heard = self->control_->take_heard();
    self->silent_ = heard ? 0 : self->silent_ + 1;
    if (self->silent_ >= 3) {
      return self->ended(PeerReason::silent, "nothing came from the other side for too long");
    }
    self->control_->send(PeerPing{});
    self->tick();
    if (heard && !std::exchange(self->settled_, true)) self->host_.link_settled(*self);
  });
}

void Link::received(const PeerMessage& message) {
  const auto self = shared_from_this();
  const PeerMessageType type = std::visit([](const auto& m) { return m.kType; }, message);
  if (!may_come(peer_.side, type)) {
    const std::string text = "the other side sent a message that may not come there, of type " +
                             std::to_string(static_cast<std::uint32_t>(type));
    return ended(PeerReason::protocol_error, text);
  }
  if (const auto* refused = std::get_if<PeerRefused>(&message)) {
    return ended(PeerReason::refused, std::string(refused->text.view()));
  }
  if (const auto* ping = std::get_if<PeerPing>(&message)) {
    PeerPong pong;
    pong.header.request = ping->header.request;
    control_->send(pong);
    return;
  }
  if (type == PeerMessageType::pong) return;
  host_.link_received(*this, message);
}

void Link::ended(PeerReason reason, const std::string& text) {
  if (stopped_) return;
  const auto self = shared_from_this();
  stop(reason, text);
  host_.link_ended(*this, reason, text);
}

void Link::stop(PeerReason reason, const std::string& text) {
  if (stopped_) return;
  stopped_ = true;
  keepalive_.cancel();
  pause.cancel();
  for (const auto& [number, dial] : dials) dial->cancel();
  for (const auto& [number, connection] : opening) connection->close();
  dials.clear();
  opening.clear();
  // What has no reader of its texts is not told.
  if (reason == PeerReason::refused || reason == PeerReason::not_reading) return control_->close();
  control_->refuse(reason, text);
}

}  // namespace tentq
