// The READs that a peer asked for on one connection and that are not answered yet: a bounded table.
// Under the connection's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "proto/status.h"
#include "proto/units.h"
#include "transports/tcp/chained_table.h"

namespace tentq {

struct AskedRead {
  std::uint64_t read = 0;      // unique in the transport
  std::uint64_t number = 0;    // the dialer's
  std::uint64_t length = 0;    // bytes
  std::uint64_t unposted = 0;  // bytes that no chunk in flight or sent stands for
  std::uint64_t unsent = 0;    // bytes
  Time asked{};
  Reason refused = Reason::none;  // what follows the piece that is being sent
  AskedRead* next = nullptr;
};

class AskedReads {
 public:
  // READs are numbered upwards from `first`.
  AskedReads(std::uint32_t most, std::uint64_t first) : most_(most), next_(first), by_read_(most) {}

  // Null when `most` are open.
  AskedRead* open(std::uint64_t number, std::uint64_t length, Time now) {
    if (by_read_.size() == most_) return nullptr;
    // Dialers never ask: their connections hold no entries.
    if (entries_ == nullptr) make_entries();
    AskedRead* read = free_;
    free_ = read->next;
    *read = {next_++, number, length, length, length, now, Reason::none, nullptr};
    by_read_.insert(read);
    return read;
  }
  AskedRead* find(std::uint64_t read) { return by_read_.find(read); }
  void close(AskedRead* read) {
    by_read_.remove(read);
    read->next = free_;
    free_ = read;
  }
  void close_all() {
    by_read_.for_each([this](AskedRead* read) { close(read); });
  }
  std::size_t size() const { return by_read_.size(); }

 private:
  void make_entries() {
    entries_ = std::make_unique<AskedRead[]>(most_);
    for (std::uint32_t i = most_; i-- > 0;) {
      entries_[i].next = free_;
      free_ = &entries_[i];
    }
  }

  const std::uint32_t most_;
  std::uint64_t next_;
  std::unique_ptr<AskedRead[]> entries_;
  AskedRead* free_ = nullptr;
  ChainedTable<AskedRead, &AskedRead::read, &AskedRead::next> by_read_;
};

}  // namespace tentq
