// An Inspection for tests: a real core with two lanes, and views that the test fills in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/logging/error_book.h"
#include "daemon/metrics/latencies.h"
#include "daemon/views.h"

namespace tentq::test {

class FakeHost : public Inspection {
 public:
  FakeHost();

  // A client with its session, owning `uid`; admitted credit is enough for some hundred owners.
  SessionId add_client(const std::string& name, std::uint32_t uid);
  // Submits one owner of `length` bytes; it stays queued until dispatch() is called.
  void submit(SessionId session, ClassId cls, std::uint64_t length);
  // Takes what the core wants done; owners whose chunks fit the windows are in flight afterwards.
  void dispatch();
  void advance(Duration more) { now_ += more; }

  DaemonView daemon() const override;
  std::vector<ClientView> clients() const override;
  std::vector<SegmentView> segments() const override { return segment_views; }
  std::vector<LaneView> lanes() const override;
  std::vector<PeerView> peers() const override { return peer_views; }
  std::vector<ElsewhereView> elsewhere() const override { return elsewhere_views; }
  std::vector<DirectoryNameView> directory_names(std::size_t most) const override {
    return {directory_views.begin(), directory_views.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   most, directory_views.size()))};
  }
  const core::Core& core() const override { return core_; }
  Time now() const override { return now_; }

  DaemonView daemon_view;
  std::vector<PeerView> peer_views;
  std::vector<ElsewhereView> elsewhere_views;
  std::vector<DirectoryNameView> directory_views;
  Latencies latencies;
  std::vector<ClientView> client_views;
  std::vector<SegmentView> segment_views;
  std::vector<std::string> logged;
  ErrorBook errors;

 private:
  core::Core core_;
  Time now_ = time_from_ns(1'000'000'000'000);
  std::uint32_t next_slot_ = 0;
  std::map<std::pair<SessionId, ClassId>, core::Amounts> consumed_;
};

inline constexpr LaneId kReadLane{0};
inline constexpr LaneId kWriteLane{1};
inline constexpr std::uint64_t kWindowBytes = 1u << 20;
inline constexpr std::uint64_t kChunkBytes = 256u << 10;

}  // namespace tentq::test
