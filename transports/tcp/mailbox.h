// A lock-free queue of items that carry their own link: any thread posts, one thread reads. It has
// room for everything and allocates nothing.
#pragma once

#include <atomic>

namespace tentq {

// The link. An item is in one mailbox at a time.
struct Mail {
  Mail* next_mail = nullptr;
};

template <class Item>
class Mailbox {
 public:
  // Any thread. The item is the reader's from here on. seq_cst for the handshake of WakeupFd: the
  // reader arms, then looks into ready(); the writer pushes, then rings. Partner: take() and
  // ready(). Tested by Mailbox.EveryItemArrivesOnceAndInOrder.
  void push(Item* item) {
    Mail* newest = newest_.load(std::memory_order_relaxed);
    do {
      item->next_mail = newest;
    } while (!newest_.compare_exchange_weak(newest, item, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  }

  // The reader. The oldest item; null if there is none. What one thread pushed comes in its order.
  Item* take() {
    if (oldest_ == nullptr) {
      if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
      oldest_ = turned_around(newest_.exchange(nullptr, std::memory_order_acq_rel));
    }
    Mail* item = oldest_;
    oldest_ = item->next_mail;
    return static_cast<Item*>(item);
  }

  // The reader. Whether take() would find one.
  bool ready() const {
    return oldest_ != nullptr || newest_.load(std::memory_order_seq_cst) != nullptr;
  }

 private:
  static Mail* turned_around(Mail* item) {
    Mail* turned = nullptr;
    while (item != nullptr) {
      Mail* next = item->next_mail;
      item->next_mail = turned;
      turned = item;
      item = next;
    }
    return turned;
  }

  alignas(64) std::atomic<Mail*> newest_{nullptr};  // pushed and not seen by the reader
  alignas(64) Mail* oldest_ = nullptr;              // the reader's
};

}  // namespace tentq
