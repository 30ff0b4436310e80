// The core is driven by hand here: nothing completes unless a test says so.
#include "tests/daemon/fake_host.h"

namespace tentq::test {
namespace {

constexpr std::uint32_t kSlots = 1024;

core::HardMaxima small_maxima() {
  core::HardMaxima maxima;
  maxima.owners = 4096;
  maxima.sessions = 8;
  maxima.clients = 8;
  maxima.lanes = 2;
  return maxima;
}

core::Limits small_limits() {
  core::Limits limits;
  limits.host.owners = 4096;
  return limits;
}

}  // namespace

FakeHost::FakeHost()
    : errors([this](LogLevel, std::string_view line) { logged.emplace_back(line); }, 16),
      core_(small_limits(), small_maxima(), core::Policy::wdrr, 1) {
  for (const LaneId lane : {kReadLane, kWriteLane}) {
    core_.handle(core::LaneOpened{lane, kWindowBytes, 16, kChunkBytes}, now_);
  }
  daemon_view.version = "0.1.0";
  daemon_view.state = DaemonState::running;
  daemon_view.pid = 4242;
  daemon_view.epoch_counter = 7;
  daemon_view.epoch_random = 0xfedcba9876543210u;
  daemon_view.uptime = std::chrono::seconds{90};
  daemon_view.shm_workers = 2;
}

SessionId FakeHost::add_client(const std::string& name, std::uint32_t uid) {
  const auto index = static_cast<std::uint32_t>(client_views.size());
  ClientView view;
  view.id = ClientId{100 + index};
  view.session = SessionId{index};
  view.key = ClientKey{index};
  view.name = name;
  view.pid = 5000 + index;
  view.uid = uid;
  view.class_mask = kClientClassMask;
  view.slots = kSlots;
  view.attached = now_;
  client_views.push_back(view);
  daemon_view.sessions = index + 1;
  core::SessionOpened opened;
  opened.session = view.session;
  opened.client = view.key;
  opened.slots = kSlots;
  opened.limit = {1024, std::uint64_t{1} << 30, 4096};
  core_.handle(opened, now_);
  return view.session;
}

void FakeHost::submit(SessionId session, ClassId cls, std::uint64_t length) {
  core::Amounts& consumed = consumed_[{session, cls}];
  core_.handle(core::CreditWanted{session, cls, {1, length, 1}, consumed, true}, now_);
  consumed = {consumed.owners + 1, consumed.bytes + length, consumed.extents + 1};
  core::OwnerSpec spec;
  spec.slot = next_slot_++;
  spec.slot_generation = 1;
  spec.lane = kReadLane;
  spec.local_region = RegionIndex{0};
  spec.remote_region = RegionIndex{1};
  spec.length = length;
  spec.cookie = spec.slot;
  core::Submitted call;
  call.session = session;
  call.cls = cls;
  call.owners = std::span(&spec, 1);
  core_.handle(call, now_);
}

void FakeHost::dispatch() {
  while (core_.next_effect()) {
  }
}

DaemonView FakeHost::daemon() const {
  DaemonView view = daemon_view;
  view.latencies = &latencies;
  return view;
}

std::vector<ClientView> FakeHost::clients() const {
  std::vector<ClientView> views = client_views;
  for (ClientView& view : views) view.totals = core_.session_totals(view.session);
  return views;
}

std::vector<LaneView> FakeHost::lanes() const {
  return {{kReadLane, "shm read", "shm", core_.lane_totals(kReadLane)},
          {kWriteLane, "shm write", "shm", core_.lane_totals(kWriteLane)}};
}

}  // namespace tentq::test
