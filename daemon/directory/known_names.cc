// See known_names.h.
#include "daemon/directory/known_names.h"

#include <algorithm>
#include <utility>

#include "daemon/overloaded.h"
#include "proto/check.h"

namespace tentq::directory {

std::optional<KnownNames::Step> KnownNames::next(Time now) {
  if (now < retry_at_) return {};
  switch (phase_) {
    case Phase::list: phase_ = Phase::listing; return ListNames{listed_to_, listing_revision_};
    case Phase::watch: phase_ = Phase::opening; return WatchFrom{revision_ + 1};
    case Phase::listing:
    case Phase::opening:
    case Phase::watching: return {};
  }
  return {};
}

Time KnownNames::next_deadline() const {
  return phase_ == Phase::list || phase_ == Phase::watch ? retry_at_ : kNever;
}

void KnownNames::list_again() {
  phase_ = Phase::list;
  fresh_.clear();
  listed_to_.clear();
  listing_revision_ = 0;
}

std::optional<KnownNames::Table> KnownNames::listed(const Answer& answer, Time now) {
  TENTQ_CHECK(phase_ == Phase::listing);
  if (const auto* failure = std::get_if<Failed>(&answer)) {
    list_again();
    failed(*failure, now);
    return {};
  }
  const auto* page = std::get_if<Listed>(&answer);
  TENTQ_CHECK(page != nullptr);
  phase_ = Phase::list;
  if (listing_revision_ == 0) {
    listing_revision_ = page->revision;
    cluster_ = page->cluster;
    left_out_ = 0;
  } else if (page->cluster != cluster_) {
    list_again();
    return {};
  }
  for (const Entry& entry : page->entries) {
    if (fresh_.size() < most_) {
      fresh_[entry.name] = entry;
    } else {
      ++left_out_;
    }
  }
  listed_to_ = page->last;
  if (page->more) return {};
  revision_ = listing_revision_;
  std::swap(table_, fresh_);
  Table before = std::move(fresh_);
  list_again();
  phase_ = Phase::watch;
  return before;
}

void KnownNames::failed(const Failed& failure, Time now) {
  ++failures_;
  retry_at_ = now + backoff_.next();
  if (failure.fault == Fault::compacted) list_again();
}

void KnownNames::told(const WatchNews& news, Time now) {
  if (!is_open()) return;
  std::visit(Overloaded{
                 [&](const Failed& failure) {
                   phase_ = Phase::watch;
                   failed(failure, now);
                 },
                 [&](const WatchBegan& began) {
                   failures_ = 0;
                   retry_at_ = Time{};
                   backoff_.reset();
                   phase_ = Phase::watching;
                   // Less than was known, or another cluster: its data were lost.
                   if (began.cluster != cluster_ || began.revision < revision_) list_again();
                 },
                 [&](const Changes& changes) { apply(changes); },
             },
             news);
}

void KnownNames::apply(const Changes& changes) {
  for (const Change& change : changes.changes) {
    const auto it = table_.find(change.name);
    if (!change.entry) {
      if (it != table_.end()) table_.erase(it);
    } else if (it != table_.end()) {
      it->second = *change.entry;
    } else if (table_.size() < most_) {
      table_[change.name] = *change.entry;
    } else {
      ++left_out_;
    }
  }
  revision_ = std::max(revision_, changes.revision);
}

const Entry* KnownNames::find(std::string_view name) const {
  const auto it = table_.find(name);
  return it == table_.end() ? nullptr : &it->second;
}

}  // namespace tentq::directory
