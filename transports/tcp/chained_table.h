// A hash table of entries that carry their own link, so that it allocates nothing after its making.
// One thread, or under its owner's lock.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/ids.h"

namespace tentq {

// Numbers are given in turn, so their low bits spread them best.
constexpr std::uint64_t spread(std::uint64_t number) {
  return number;
}
constexpr std::uint64_t spread(const ChunkId& id) {
  std::uint64_t bits = (id.owner.number() ^ (std::uint64_t{id.ordinal} << 40)) + id.attempt;
  bits *= 0x9e37'79b9'7f4a'7c15u;
  return bits >> 32;
}

// `kNext` is the entry's link, `kKey` the member that it is found by; a key is in the table once.
template <class Entry, auto kKey, Entry* Entry::*kNext>
class ChainedTable {
 public:
  // `expected` entries make chains of about one; more make them longer.
  explicit ChainedTable(std::size_t expected) : chains_(std::bit_ceil(expected | 1u), nullptr) {}

  void insert(Entry* entry) {
    Entry*& first = chain(entry->*kKey);
    entry->*kNext = first;
    first = entry;
    ++size_;
  }

  template <class Key>
  Entry* find(const Key& key) {
    Entry* entry = chain(key);
    while (entry != nullptr && entry->*kKey != key) entry = entry->*kNext;
    return entry;
  }

  // `entry` is in the table.
  void remove(Entry* entry) {
    Entry** link = &chain(entry->*kKey);
    while (*link != entry) link = &((*link)->*kNext);
    *link = entry->*kNext;
    --size_;
  }

  // Calls `visit(entry)` for each; it may remove that entry.
  template <class Visit>
  void for_each(Visit visit) {
    for (Entry* first : chains_) {
      for (Entry* entry = first; entry != nullptr;) {
        Entry* next = entry->*kNext;
        visit(entry);
        entry = next;
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  template <class Key>
  Entry*& chain(const Key& key) {
    return chains_[spread(key) & (chains_.size() - 1)];
  }

  std::vector<Entry*> chains_;
  std::size_t size_ = 0;
};

}  // namespace tentq
