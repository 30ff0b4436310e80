// All batches that somebody still refers to, and a few finished ones to use again. Guarded by the
// client's lock.
#pragma once

#include <memory>
#include <vector>

#include "client/batch_state.h"
#include "proto/check.h"

namespace tentq::lib {

class BatchPool {
 public:
  BatchState* allocate(std::uint32_t tasks) {
    std::unique_ptr<BatchState> batch;
    for (std::size_t i = spare_.size(); i > 0 && batch == nullptr; --i) {
      if (spare_[i - 1]->capacity != tasks) continue;
      batch = std::move(spare_[i - 1]);
      spare_.erase(spare_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (batch == nullptr) batch = std::make_unique<BatchState>(tasks);
    batch->index = live_.size();
    live_.push_back(std::move(batch));
    return live_.back().get();
  }

  // Freed, and every owner terminal.
  void recycle(BatchState* batch) {
    const std::size_t index = batch->index;
    TENTQ_CHECK(index < live_.size() && live_[index].get() == batch);
    std::unique_ptr<BatchState> gone = std::move(live_[index]);
    if (index + 1 < live_.size()) {
      live_[index] = std::move(live_.back());
      live_[index]->index = index;
    }
    live_.pop_back();
    if (spare_.size() >= kMostSpare || gone->capacity > kLargestSpare) return;
    gone->reset();
    spare_.push_back(std::move(gone));
  }

  const std::vector<std::unique_ptr<BatchState>>& live() const { return live_; }

 private:
  static constexpr std::size_t kMostSpare = 16;
  static constexpr std::uint32_t kLargestSpare = 4096;
  std::vector<std::unique_ptr<BatchState>> live_;
  std::vector<std::unique_ptr<BatchState>> spare_;
};

}  // namespace tentq::lib
