// The fake daemon's thread and its control protocol. What it does with transfers is in
// fake_transfers.cc. See fake_daemon.h.
#include "tests/client/fake_daemon.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "proto/check.h"
#include "proto/version.h"
#include "shm/packet_socket.h"

namespace tentq::testing {

static_assert(FakeDaemonOptions::kProtocolMajorForTests == kProtocolMajor);

namespace {

template <class Message>
const Message& as(const std::vector<std::byte>& packet) {
  TENTQ_CHECK(packet.size() == sizeof(Message));
  return *reinterpret_cast<const Message*>(packet.data());
}

void poke(int fd) {
  const std::uint64_t one = 1;
  TENTQ_CHECK(::write(fd, &one, sizeof one) == static_cast<ssize_t>(sizeof one));
}

}  // namespace

template <class Message>
void FakeDaemon::send(FakeSession& session, const Message& message, std::span<const int> fds) {
  if (shm::send_message(session.socket.get(), message, fds) != 0) session.dead = true;
}

FakeDaemon::FakeDaemon(std::string path, FakeDaemonOptions options)
    : options_(std::move(options)), hold_(options_.hold) {
  int error = 0;
  listener_ = shm::listen_at(path, 0666, -1, &error);
  TENTQ_CHECK(listener_.valid());
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { run(); });
}

FakeDaemon::~FakeDaemon() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  poke(wake_.get());
  thread_.join();
}

void FakeDaemon::hold(bool hold) {
  const std::lock_guard lock(mutex_);
  hold_ = hold;
  dirty_ = true;
  poke(wake_.get());
}

void FakeDaemon::finish_silently(std::size_t count) {
  const std::lock_guard lock(mutex_);
  for (FakeSession& session : sessions_) {
    for (; count > 0 && !session.owners.empty(); --count) {
      const FakeOwner& owner = session.owners.front();
      shm::SlotView view;
      view.word = {owner.cell.slot_generation, TaskState::completed, Reason::none};
      view.bytes_done = owner.cell.length;
      session.status.finish(owner.cell.slot, view);
      session.owners.pop_front();
    }
  }
}

void FakeDaemon::grant(ClassId cls, const shm::CreditAmounts& more) {
  const std::lock_guard lock(mutex_);
  for (FakeSession& session : sessions_) {
    if (session.attached) session.grant(session.ring(cls), more);
  }
  dirty_ = true;
  poke(wake_.get());
}

void FakeDaemon::set_state(DaemonState state) {
  const std::lock_guard lock(mutex_);
  for (FakeSession& session : sessions_) {
    if (!session.attached) continue;
    session.memory.view.sta()->state.store(static_cast<std::uint32_t>(state));
  }
}

void FakeDaemon::fail_registrations(StatusCode code) {
  const std::lock_guard lock(mutex_);
  registrations_ = code;
}

void FakeDaemon::shut_out() {
  const std::lock_guard lock(mutex_);
  auto notice = make_message<DaemonNotice>();
  notice.state = DaemonState::quarantined;
  for (FakeSession& session : sessions_) {
    send(session, notice);
    session.dead = true;
  }
  dirty_ = true;
  poke(wake_.get());
}

bool FakeDaemon::await(const std::function<bool(const FakeDaemon&)>& condition) {
  std::unique_lock lock(mutex_);
  return turned_.wait_for(lock, std::chrono::seconds{20}, [&] { return condition(*this); });
}

FakeDaemon::Seen FakeDaemon::snapshot() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void FakeDaemon::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool busy = turn();
    seen_.queued = 0;
    for (const FakeSession& session : sessions_) seen_.queued += session.owners.size();
    turned_.notify_all();
    if (busy) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    bool parked = true;
    for (FakeSession& session : sessions_) {
      fds.push_back({session.socket.get(), POLLIN, 0});
      if (!session.attached) continue;
      if (!session.doorbell.park()) parked = false;
      fds.push_back({session.doorbell_fd.get(), POLLIN, 0});
    }
    lock.unlock();
    if (parked) ::poll(fds.data(), fds.size(), -1);
    std::uint64_t count = 0;
    const ssize_t got = ::read(wake_.get(), &count, sizeof count);
    (void)got;  // EAGAIN: something else woke it
    lock.lock();
  }
}

// True if there may be more to do at once.
bool FakeDaemon::turn() {
  accept_all();
  for (FakeSession& session : sessions_) receive(session);
  std::erase_if(sessions_, [](const FakeSession& session) { return session.dead; });
  bool busy = dirty_;
  dirty_ = false;
  for (FakeSession& session : sessions_) {
    if (!session.attached) continue;
    session.doorbell.unpark();
    if (shm::drain_doorbell(session.doorbell_fd.get())) busy = true;
    if (session.doorbell.changed()) busy = true;
    drain(session);
  }
  for (FakeSession& session : sessions_) {
    if (session.attached) work(session);
  }
  for (FakeSession& session : sessions_) {
    if (!session.touched) continue;
    session.touched = false;
    session.notifier.notify();
    busy = true;
  }
  return busy || dirty_;
}

void FakeDaemon::accept_all() {
  for (;;) {
    shm::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    sessions_.emplace_back().socket = std::move(socket);
  }
}

void FakeDaemon::receive(FakeSession& session) {
  while (!session.dead) {
    Packet packet(kLargestMessage);
    shm::ReceivedPacket received;
    const int error = shm::receive_packet(session.socket.get(), packet, &received);
    if (error == EAGAIN) return;
    if (error != 0 || received.bytes == 0) {
      session.dead = true;
      return;
    }
    packet.resize(received.bytes);
    dispatch(session, packet, received.fd_count > 0 ? std::move(received.fds[0]) : shm::Fd{});
  }
}

void FakeDaemon::dispatch(FakeSession& session, const Packet& packet, shm::Fd fd) {
  ControlHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  auto done = make_message<Done>(header.request);
  if (header.type == MessageType::hello) {
    hello(session, as<Hello>(packet));
  } else if (header.type == MessageType::mapped) {
    TENTQ_CHECK(shm::seal_requests(session.memory) == 0);
  } else if (header.type == MessageType::goodbye) {
    ++seen_.goodbyes;
  } else if (header.type == MessageType::register_region) {
    register_region(session, as<RegisterRegion>(packet), std::move(fd));
  } else if (header.type == MessageType::unregister_region) {
    ++seen_.unregistrations;
    const std::uint32_t region = as<UnregisterRegion>(packet).region;
    if (session.regions.erase(region) == 0) done.status = StatusCode::not_found;
    send(session, done);
  } else if (header.type == MessageType::open_segment) {
    open_segment(session, as<OpenSegment>(packet));
  } else if (header.type == MessageType::close_segment) {
    ++seen_.closes;
    session.segments.erase(as<CloseSegment>(packet).segment);
    send(session, done);
  } else if (header.type == MessageType::segment_regions) {
    list_regions(session, as<SegmentRegions>(packet));
  } else if (header.type == MessageType::query) {
    answer_query(session, as<Query>(packet));
  }
}

void FakeDaemon::hello(FakeSession& session, const Hello& message) {
  ++seen_.hellos;
  seen_.last_hello = message;
  seen_.hello_of[std::string(message.name.view())] = message;
  StatusCode refusal = options_.refuse;
  for (const FakeSession& other : sessions_) {
    const bool held = other.attached && !other.dead && !message.name.view().empty() &&
                      other.name == message.name.view();
    if (held) refusal = StatusCode::name_in_use;
  }
  if (refusal != StatusCode::ok) {
    auto refused = make_message<Refused>();
    refused.status = refusal;
    refused.text.assign(options_.refusal.empty() ? "held by another process" : options_.refusal);
    send(session, refused);
    return;
  }
  session.hello = message;
  session.name = message.name.view();
  SessionSizes sizes = options_.sizes;
  if (message.class_mask != 0) sizes.class_mask &= message.class_mask;
  session.set_up(sizes, options_.grant);
  shm::Fd client_end;
  TENTQ_CHECK(shm::create_completion_pair(&session.completion_fd, &client_end) == 0);
  ReqHeader* req = session.memory.view.req();
  StaHeader* sta = session.memory.view.sta();
  session.notifier = {&sta->completions.value, &req->waiters.value, &req->completion_fd_armed.value,
                      session.completion_fd.get()};
  auto welcome = make_message<Welcome>(message.header.request);
  welcome.client = next_client_++;
  welcome.major = options_.major;
  welcome.sizes = sizes;
  welcome.limits = options_.limits;
  welcome.token[0] = static_cast<std::uint8_t>(message.name.view().size());
  welcome.version.assign("fake");
  const int fds[] = {session.memory.req_fd.get(), session.memory.sta_fd.get(),
                     session.doorbell_fd.get(), client_end.get()};
  send(session, welcome, fds);
  session.attached = true;
  ++seen_.attaches;
}

void FakeDaemon::register_region(FakeSession& session, const RegisterRegion& message, shm::Fd fd) {
  ++seen_.registrations;
  auto progress = make_message<RegionProgress>(message.header.request);
  progress.done_bytes = progress.total_bytes = message.size;
  send(session, progress);
  auto reply = make_message<RegionReply>(message.header.request);
  int error = 0;
  FakeRegion region;
  region.message = message;
  region.mapping = shm::Mapping::map(fd.get(), message.fd_offset, message.size,
                                     shm::Mapping::Mode::read_write, &error);
  if (registrations_ != StatusCode::ok || error != 0) {
    reply.status = registrations_ != StatusCode::ok ? registrations_ : StatusCode::exhausted;
    reply.text.assign("the fake daemon was told to refuse");
  } else {
    reply.region = session.next_id++;
    session.regions.emplace(reply.region, std::move(region));
  }
  send(session, reply);
}

void FakeDaemon::open_segment(FakeSession& session, const OpenSegment& message) {
  ++seen_.opens;
  auto reply = make_message<SegmentReply>(message.header.request);
  FakeSegment segment{std::string(message.name.view()), message.incarnation, message.reattach != 0};
  FakeSession* const holder = exporter(segment);
  if (holder == nullptr && message.reattach == 0) {
    reply.status = StatusCode::not_found;
    reply.text.assign("no such segment");
  } else {
    if (holder != nullptr) segment.incarnation = holder->hello.incarnation;
    reply.segment = session.next_id++;
    reply.incarnation = segment.incarnation;
    reply.regions = holder == nullptr ? 0 : holder->regions.size();
    session.segments.emplace(reply.segment, segment);
  }
  send(session, reply);
}

void FakeDaemon::list_regions(FakeSession& session, const SegmentRegions& message) {
  auto reply = make_message<SegmentRegionsReply>(message.header.request);
  const auto it = session.segments.find(message.segment);
  if (it == session.segments.end()) {
    reply.status = StatusCode::not_found;
  } else if (FakeSession* const holder = exporter(it->second)) {
    std::map<std::uint64_t, RegionRow> rows;
    for (const auto& [id, region] : holder->regions) {
      rows[region.message.base] = {region.message.base, region.message.size,
                                   static_cast<std::uint32_t>(region.message.host_access), 0};
    }
    reply.total = static_cast<std::uint32_t>(rows.size());
    reply.first = message.first;
    std::uint32_t index = 0;
    for (const auto& [base, row] : rows) {
      if (index++ >= message.first && reply.count < kRegionRows) reply.rows[reply.count++] = row;
    }
  }
  send(session, reply);
}

void FakeDaemon::answer_query(FakeSession& session, const Query& message) {
  auto reply = make_message<QueryReply>(message.header.request);
  const std::string text = "{\"argument\":\"" + std::string(message.argument.view()) + "\"}";
  int error = 0;
  const shm::Fd document = shm::create_memory("fake-query", kPage, false, &error);
  TENTQ_CHECK(::pwrite(document.get(), text.data(), text.size(), 0) ==
              static_cast<ssize_t>(text.size()));
  reply.document_bytes = text.size();
  const int fd = document.get();
  send(session, reply, std::span(&fd, 1));
}

FakeSession* FakeDaemon::exporter(const FakeSegment& segment) {
  for (FakeSession& session : sessions_) {
    const bool same = segment.incarnation == 0 || session.hello.incarnation == segment.incarnation;
    if (session.attached && !session.dead && same && session.name == segment.name) return &session;
  }
  return nullptr;
}

}  // namespace tentq::testing
