// READs of one other host, served here: each is an owner of this host's core on the lane to the
// asker, as in the daemon. What has no admission credit yet waits.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "tests/sim/host.h"

namespace tentq::sim {

class Serving final : public Party {
 public:
  static constexpr std::uint32_t kMostReads = 256;  // asked and not answered

  // `client` is what its session is called in the record, `key` its fairness key; `lane` leads to
  // the asker.
  Serving(Host* host, std::uint32_t client, ClientKey key, std::uint32_t lane);

  void asked(std::uint32_t read, ClassId cls, std::uint64_t bytes);
  // The asker's link is over: nobody can be answered.
  void drop();

  void ended(const core::OwnerEnded& end, std::int64_t intended_ns) override;
  void credit_raised() override { submit_waiting(); }

 private:
  struct Read {
    std::uint32_t read = 0;
    std::uint64_t bytes = 0;
  };
  bool submit(const Read& read, ClassId cls);
  void submit_waiting();

  Host* host_;
  SessionId session_;
  std::uint32_t lane_;
  std::array<std::deque<Read>, kMaxClasses> waiting_;
};

}  // namespace tentq::sim
