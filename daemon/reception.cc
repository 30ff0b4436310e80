// Routing of control messages. See reception.h.
#include "daemon/reception.h"

#include <utility>

namespace tentq {

namespace {

DaemonNotice notice_of(DaemonState state, const std::string& text) {
  auto notice = make_message<DaemonNotice>();
  notice.state = state;
  notice.text.assign(text);
  return notice;
}

}  // namespace

Reception::Reception(Attach& attach, Registration& registration, SegmentRequests& segments,
                     Admin& admin, Host& host, std::size_t most_channels, Duration handshake)
    : attach_(attach),
      registration_(registration),
      segments_(segments),
      admin_(admin),
      host_(host),
      most_channels_(most_channels),
      handshake_(handshake) {}

void Reception::accepted(std::shared_ptr<ControlChannel> channel) {
  if (channel->closed()) return;
  if (channels_.size() >= most_channels_) return channel->abandon();
  ControlChannel& started = *channel;
  channels_.emplace(channel.get(), std::move(channel));
  started.start(handshake_);
}

void Reception::received(ControlChannel& channel, ClientMessage message, shm::Fd fd) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    return attach_.hello(channel, *hello, std::move(fd));
  }
  if (const auto* query = std::get_if<Query>(&message)) {
    host_.take_requests();
    return admin_.query(channel, *query);
  }
  if (const auto* command = std::get_if<Command>(&message)) {
    return admin_.command(channel, *command);
  }
  Session* session = channel.session();
  if (session == nullptr) {
    // Between HELLO and WELCOME nothing else is expected; after the session's end nobody answers.
    return channel.close_after_sending(handshake_);
  }
  if (std::get_if<Mapped>(&message) != nullptr) return attach_.mapped(channel);
  if (std::get_if<Goodbye>(&message) != nullptr) {
    channel.set_session(nullptr);
    channel.close_after_sending(handshake_);
    return host_.client_gone(*session, true, "detached");
  }
  if (const auto* m = std::get_if<RegisterRegion>(&message)) {
    return registration_.register_region(channel, *m, std::move(fd));
  }
  if (fd.valid()) host_.violation(*session, Violation::surplus_fds);
  if (const auto* m = std::get_if<UnregisterRegion>(&message)) {
    registration_.unregister_region(channel, *m);
  } else if (const auto* open = std::get_if<OpenSegment>(&message)) {
    segments_.open(channel, *open, host_.now());
  } else if (const auto* close = std::get_if<CloseSegment>(&message)) {
    segments_.close(channel, *close);
  } else if (const auto* list = std::get_if<SegmentRegions>(&message)) {
    segments_.list_regions(channel, *list);
  }
}

void Reception::closed(ControlChannel& channel, const char* why) {
  Session* session = channel.session();
  channel.set_session(nullptr);
  if (session != nullptr) host_.client_gone(*session, false, why);
  channels_.erase(&channel);
}

void Reception::writable(ControlChannel& channel) {
  if (channel.session() != nullptr) host_.mailbox_writable(*channel.session());
}

void Reception::dismiss(Session& session, DaemonState state, const std::string& text) {
  ControlChannel* channel = session.channel;
  if (channel == nullptr) return;
  channel->set_session(nullptr);
  channel->send(notice_of(state, text));
  channel->close_after_sending(std::chrono::seconds{1});
}

void Reception::tell_all(DaemonState state, const std::string& text) {
  const DaemonNotice notice = notice_of(state, text);
  // A copy: a channel whose socket is full and stays so leaves the table while it is told.
  const auto channels = channels_;
  for (const auto& [address, channel] : channels) {
    if (channel->session() != nullptr) channel->send(notice);
  }
}

}  // namespace tentq
