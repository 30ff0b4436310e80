// Segments of other hosts that clients of this one have opened. Each is opened at its host over the
// link to it, and opened again, as the same exporter's, after every loss of the link. Conductor
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/control.h"
#include "proto/ids.h"
#include "proto/peer.h"
#include "proto/units.h"

namespace tentq {

enum class RemoteState : std::uint8_t {
  away,    // there is no link, or the answer of the other host is awaited
  open,    // `wire` and `link` are what it is reached by
  failed,  // the other host has it no more: `failure`
};

struct RemoteSegment {
  std::uint32_t entry = 0;  // of the table; what owners name
  std::string address;      // host[:port]
  std::string name;
  std::uint64_t incarnation = 0;  // of the exporter; 0: not opened so far
  std::uint64_t regions = 0;      // when it was opened last
  RemoteState state = RemoteState::away;
  Reason failure = Reason::stale_handle;
  LinkKey link;            // while it is open
  std::uint64_t wire = 0;  // its handle in that link
  std::uint32_t pins = 0;  // owners that name it, and a client's handle
  bool held = true;        // that handle is there

  bool is_named() const { return pins > (held ? 1u : 0u); }
};
using RemoteSegmentPtr = std::shared_ptr<RemoteSegment>;

class RemoteSegments {
 public:
  // How an opening ended: ok, or why not and what to do.
  using Opened =
      std::function<void(const RemoteSegmentPtr&, StatusCode status, const std::string& text)>;
  // Sends to the other host; false: there is no such link.
  using Send = std::function<bool(LinkKey link, const PeerOpenSegment& message)>;
  using SendClose = std::function<void(LinkKey link, const PeerCloseSegment& message)>;
  // The segment is open, or will not be: owners that wait for it should look again.
  using Changed = std::function<void()>;
  // No segment of that address is left.
  using Unused = std::function<void(const std::string& address)>;

  RemoteSegments(Send send, SendClose send_close, Changed changed, Unused unused)
      : send_(std::move(send)),
        send_close_(std::move(send_close)),
        changed_(std::move(changed)),
        unused_(std::move(unused)) {}

  // Opens it over `link` (invalid: as soon as there is one); `opened` follows, with no_route if
  // that takes until `deadline`. incarnation 0: whoever exports the name.
  void open(std::string address, std::string name, std::uint64_t incarnation, LinkKey link,
            Time deadline, Opened opened);
  // A client's handle goes. Its entry stays while owners name it.
  void close(const RemoteSegmentPtr& segment);
  void pin(std::uint32_t entry) { ++table_[entry]->pins; }
  void unpin(std::uint32_t entry);
  const RemoteSegment& at(std::uint32_t entry) const { return *table_[entry]; }

  // There is a link that serves the address: opens there what belongs to it.
  void link_up(LinkKey link, const std::string& address);
  void link_down(LinkKey link);
  void answered(LinkKey link, const PeerSegment& answer);
  // Openings that took too long.
  void expire(Time now);
  // Whether what owners may name is still being opened again over this link.
  bool is_reopening(LinkKey link) const;
  std::size_t count() const;
  template <class Visit>
  void for_each(Visit visit) const {
    for (const RemoteSegmentPtr& segment : table_) {
      if (segment != nullptr) visit(*segment);
    }
  }
  bool is_used(const std::string& address) const;

 private:
  struct Opening {
    RemoteSegmentPtr segment;
    LinkKey link;  // invalid: waits for one
    std::uint64_t request = 0;
    Time deadline = kNever;
    Opened opened;  // null: opened again, nobody waits
  };

  void ask(Opening& opening, LinkKey link);
  void end(std::size_t at, StatusCode status, const std::string& text);
  void forget(const RemoteSegmentPtr& segment);

  Send send_;
  SendClose send_close_;
  Changed changed_;
  Unused unused_;
  std::vector<RemoteSegmentPtr> table_;  // null: free
  std::vector<std::uint32_t> free_;
  std::vector<Opening> openings_;
  std::uint64_t next_request_ = 1;
};

}  // namespace tentq
