// What goes back to the conductor: ended chunks and events, of one thread of the transport. end()
// and report(): any thread that holds the connection's lock; take…(), ready(): conductor.
#pragma once

#include <mutex>

#include "transports/tcp/mailbox.h"
#include "transports/tcp/tcp_chunk.h"
#include "transports/tcp/tcp_events.h"
#include "transports/wakeup_fd.h"

namespace tentq {

class Reports {
 public:
  explicit Reports(WakeupFd* wakeup) : wakeup_(wakeup) {}
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // Nothing touches the chunk's memory any more; its outcome is set.
  void end(TcpChunk* chunk) {
    ended_.push(chunk);
    wakeup_->ring();
  }
  void report(const TcpEvent& event);

  TcpChunk* take_ended() { return static_cast<TcpChunk*>(ended_.take()); }
  bool take_event(TcpEvent* event);
  bool ready() const { return ended_.ready() || events_.ready(); }

 private:
  struct EventMail : Mail {
    TcpEvent event;
  };

  WakeupFd* wakeup_;
  Mailbox<TcpChunk> ended_;
  Mailbox<EventMail> events_;
  std::mutex taking_;         // from spare_, in report()
  Mailbox<EventMail> spare_;  // taken by the conductor, back for the next event
};

}  // namespace tentq
