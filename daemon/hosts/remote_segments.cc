// Handles of other hosts' segments. See remote_segments.h.
#include "daemon/hosts/remote_segments.h"

#include <algorithm>

#include "proto/check.h"

namespace tentq {

namespace {

Reason reason_of(StatusCode status) {
  if (status == StatusCode::not_permitted) return Reason::not_permitted;
  return Reason::stale_handle;
}

}  // namespace

void RemoteSegments::open(std::string address, std::string name, std::uint64_t incarnation,
                          LinkKey link, Time deadline, Opened opened) {
  auto segment = std::make_shared<RemoteSegment>();
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(table_.size()));
    table_.emplace_back();
  }
  segment->entry = free_.back();
  free_.pop_back();
  table_[segment->entry] = segment;
  segment->address = std::move(address);
  segment->name = std::move(name);
  segment->incarnation = incarnation;
  segment->pins = 1;
  openings_.push_back({segment, LinkKey{}, 0, deadline, std::move(opened)});
  if (link.valid()) ask(openings_.back(), link);
}

void RemoteSegments::ask(Opening& opening, LinkKey link) {
  auto message = make_message<PeerOpenSegment>(next_request_++);
  message.incarnation = opening.segment->incarnation;
  message.regions = opening.segment->regions;
  message.name.assign(opening.segment->name);
  if (!send_(link, message)) return;  // link_up() of another one follows
  opening.link = link;
  opening.request = message.header.request;
}

void RemoteSegments::close(const RemoteSegmentPtr& segment) {
  for (std::size_t i = openings_.size(); i > 0; --i) {
    // What owners still name is opened again in any case.
    if (openings_[i - 1].segment == segment && openings_[i - 1].opened != nullptr) {
      openings_.erase(openings_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
  segment->held = false;
  unpin(segment->entry);
}

void RemoteSegments::unpin(std::uint32_t entry) {
  const RemoteSegmentPtr segment = table_[entry];
  TENTQ_CHECK(segment != nullptr && segment->pins > 0);
  if (--segment->pins == 0) forget(segment);
}

void RemoteSegments::forget(const RemoteSegmentPtr& segment) {
  if (segment->state == RemoteState::open) {
    auto message = make_message<PeerCloseSegment>();
    message.segment = segment->wire;
    send_close_(segment->link, message);
  }
  std::erase_if(openings_, [&segment](const Opening& each) { return each.segment == segment; });
  table_[segment->entry] = nullptr;
  free_.push_back(segment->entry);
  if (!is_used(segment->address)) unused_(segment->address);
}

void RemoteSegments::link_up(LinkKey link, const std::string& address) {
  for (const RemoteSegmentPtr& segment : table_) {
    if (segment == nullptr || segment->address != address) continue;
    if (segment->state != RemoteState::away) continue;
    const auto waiting = std::find_if(openings_.begin(), openings_.end(),
                                      [&](const Opening& each) { return each.segment == segment; });
    if (waiting == openings_.end()) {
      openings_.push_back({segment, LinkKey{}, 0, kNever, nullptr});
      ask(openings_.back(), link);
    } else if (!waiting->link.valid()) {
      ask(*waiting, link);
    }
  }
}

void RemoteSegments::link_down(LinkKey link) {
  for (Opening& opening : openings_) {
    if (opening.link == link) opening.link = LinkKey{};
  }
  // Opened again at the next link without anybody's asking.
  std::erase_if(openings_,
                [](const Opening& each) { return !each.link.valid() && each.opened == nullptr; });
  for (const RemoteSegmentPtr& segment : table_) {
    if (segment == nullptr || segment->state != RemoteState::open || segment->link != link)
      continue;
    segment->state = RemoteState::away;
    segment->link = LinkKey{};
  }
}

void RemoteSegments::answered(LinkKey link, const PeerSegment& answer) {
  const auto it = std::find_if(openings_.begin(), openings_.end(), [&](const Opening& each) {
    return each.link == link && each.request == answer.header.request;
  });
  if (it == openings_.end()) {
    // Nobody wants it any more.
    if (answer.status != StatusCode::ok) return;
    auto message = make_message<PeerCloseSegment>();
    message.segment = answer.segment;
    send_close_(link, message);
    return;
  }
  RemoteSegment& segment = *it->segment;
  const auto at = static_cast<std::size_t>(it - openings_.begin());
  if (answer.status == StatusCode::ok) {
    segment.state = RemoteState::open;
    segment.link = link;
    segment.wire = answer.segment;
    segment.incarnation = answer.incarnation;
    segment.regions = answer.regions;
  } else if (may_retry(answer.status) && it->opened == nullptr) {
    // Asked for again over the next link; owners wait as for any other way.
    segment.state = RemoteState::away;
  } else {
    segment.state = RemoteState::failed;
    segment.failure = reason_of(answer.status);
  }
  end(at, answer.status, std::string(answer.text.view()));
}

void RemoteSegments::end(std::size_t at, StatusCode status, const std::string& text) {
  const Opening opening = std::move(openings_[at]);
  openings_.erase(openings_.begin() + static_cast<std::ptrdiff_t>(at));
  if (opening.opened) opening.opened(opening.segment, status, text);
  changed_();
}

void RemoteSegments::expire(Time now) {
  for (std::size_t i = openings_.size(); i > 0; --i) {
    if (i > openings_.size() || openings_[i - 1].deadline > now) continue;
    end(i - 1, StatusCode::no_route,
        "host '" + openings_[i - 1].segment->address + "' did not answer in time");
  }
}

bool RemoteSegments::is_reopening(LinkKey link) const {
  return std::any_of(openings_.begin(), openings_.end(), [link](const Opening& each) {
    return each.link == link && each.opened == nullptr && each.segment->is_named();
  });
}

bool RemoteSegments::is_used(const std::string& address) const {
  return std::any_of(table_.begin(), table_.end(), [&address](const RemoteSegmentPtr& segment) {
    return segment != nullptr && segment->address == address;
  });
}

std::size_t RemoteSegments::count() const {
  return table_.size() - free_.size();
}

}  // namespace tentq
