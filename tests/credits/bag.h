// Messages on the way, at most N of them: any may arrive next, or never. One more drives out the
// oldest, which is lost.
#pragma once

#include <array>
#include <cstddef>

namespace tentq::core {

template <class T, std::size_t N>
class Bag {
 public:
  void put(const T& message) {
    if (count_ == N) take(0);
    messages_[count_++] = message;
  }
  T take(std::size_t index) {
    const T message = messages_[index];
    for (std::size_t i = index + 1; i < count_; ++i) messages_[i - 1] = messages_[i];
    messages_[--count_] = T{};
    return message;
  }
  const T& operator[](std::size_t index) const { return messages_[index]; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<T, N> messages_{};
  std::size_t count_ = 0;
};

}  // namespace tentq::core
