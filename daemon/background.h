// What may take long and must not hold up the conductor: making session memory, populating regions,
// unmapping. Work runs on own threads; its continuation runs on the conductor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <utility>

#include "shm/memory.h"

namespace tentq {

class Background {
 public:
  explicit Background(boost::asio::io_context& conductor)
      : conductor_(conductor), short_work_(1), long_work_(2) {}
  // Waits for what is running; continuations not yet run are dropped with the conductor.
  ~Background() {
    short_work_.join();
    long_work_.join();
  }

  // `work` on a thread of its own, then `then` on the conductor.
  void run_short(std::function<void()> work, std::function<void()> then) {
    run(short_work_, std::move(work), std::move(then));
  }
  // For work whose time grows with the size of memory.
  void run_long(std::function<void()> work, std::function<void()> then) {
    run(long_work_, std::move(work), std::move(then));
  }
  // From a work function: something for the conductor to do meanwhile.
  void on_conductor(std::function<void()> action) {
    boost::asio::post(conductor_, std::move(action));
  }
  // Unmaps without holding anybody up.
  void dispose(shm::Mapping mapping) {
    auto kept = std::make_shared<shm::Mapping>(std::move(mapping));
    boost::asio::post(long_work_, [kept = std::move(kept)]() mutable { kept.reset(); });
  }

 private:
  void run(boost::asio::thread_pool& pool, std::function<void()> work, std::function<void()> then) {
    boost::asio::post(pool, [this, work = std::move(work), then = std::move(then)]() mutable {
      work();
      boost::asio::post(conductor_, std::move(then));
    });
  }

  boost::asio::io_context& conductor_;
  boost::asio::thread_pool short_work_;
  boost::asio::thread_pool long_work_;
};

}  // namespace tentq
