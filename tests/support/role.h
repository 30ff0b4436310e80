// A forked process of a test or benchmark with one duty, ordered over a packet channel. The parent
// forks it before it has threads of its own; the child ends with its parent, at its time limit, or
// with its body. Nothing is left behind. One thread on each side.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "shm/fd.h"

namespace tentq::test {

// One end of the channel: whole packets in order, at most 64 KiB each.
class RoleChannel {
 public:
  explicit RoleChannel(shm::Fd fd) : fd_(std::move(fd)) {}

  // False when the other end is gone.
  template <class Message>
  bool send(const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return send_bytes(std::as_bytes(std::span(&message, 1)));
  }
  // nullopt when the other end is gone, nothing came within `most`, or it is no Message.
  template <class Message>
  std::optional<Message> receive(std::chrono::milliseconds most) {
    static_assert(std::is_trivially_copyable_v<Message>);
    Message message;
    if (!receive_bytes(std::as_writable_bytes(std::span(&message, 1)), most)) return std::nullopt;
    return message;
  }
  // Readable when a packet waits or the other end is gone.
  int fd() const { return fd_.get(); }

 private:
  bool send_bytes(std::span<const std::byte> bytes);
  bool receive_bytes(std::span<std::byte> bytes, std::chrono::milliseconds most);

  shm::Fd fd_;
};

class Role {
 public:
  // Forks a child that runs `body` and ends with its result; an exception's text goes to standard
  // error and ends it with 1. A child older than `limit` is killed by SIGALRM. Throws
  // std::system_error when there is no process to be had.
  Role(std::string name, std::chrono::seconds limit, std::function<int(RoleChannel&)> body);
  ~Role();  // SIGKILL, if it still runs
  Role(Role&& other) noexcept;
  Role& operator=(Role&&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  RoleChannel& channel() { return channel_; }
  // Waits for its end; its exit code, or -N after signal N. Kills it after `most` (then -SIGKILL).
  int join(std::chrono::milliseconds most);
  void kill();

 private:
  std::string name_;
  pid_t pid_ = -1;
  shm::Fd pidfd_;
  RoleChannel channel_;
};

// Zeroed memory that later children share with this process. Elements must be trivially
// destructible; atomics are fine.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit SharedArray(std::size_t count) : count_(count) {
    void* memory =
        ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
    if constexpr (!std::is_trivially_default_constructible_v<T>) {
      for (std::size_t i = 0; i < count_; ++i) new (data_ + i) T();
    }
  }
  ~SharedArray() { ::munmap(data_, bytes()); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  T& operator[](std::size_t i) const { return data_[i]; }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::span<T> span() const { return {data_, count_}; }

 private:
  std::size_t bytes() const { return (count_ == 0 ? 1 : count_) * sizeof(T); }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tentq::test
