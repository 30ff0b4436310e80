// A spdlog sink on a file descriptor that gives a line up instead of waiting for a slow reader.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tentq {

class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `own`: the descriptor is closed at the end.
  DescriptorSink(int fd, bool own);
  ~DescriptorSink() override;
  DescriptorSink(const DescriptorSink&) = delete;
  DescriptorSink& operator=(const DescriptorSink&) = delete;

  // Writes to another descriptor from now on; owns it.
  void replace(int fd);
  std::uint64_t lost_lines() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  // The whole text or (almost) nothing; false if it was not all written.
  bool write(const char* text, std::size_t bytes);

  int fd_;
  bool own_;
  bool socket_ = false;
  std::uint64_t lost_untold_ = 0;  // since the last written line
  // Statistics only: no other memory is read on account of it.
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace tentq
