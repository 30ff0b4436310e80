// The public handles: thin, movable references to the client's state. See tentq.hpp.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/client_state.h"
#include "proto/version.h"
#include "tentq/tentq.hpp"

namespace tentq {
inline namespace v1 {

// --- Memory
// ---------------------------------------------------------------------------------------

Memory::Memory(std::shared_ptr<lib::MemoryBlock> block) : block_(std::move(block)) {}
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;
Memory::~Memory() = default;

std::byte* Memory::data() const {
  return block_ == nullptr ? nullptr : block_->mapping.data();
}
std::size_t Memory::size() const {
  return block_ == nullptr ? 0 : block_->mapping.size();
}
const Region& Memory::region() const {
  static const Region none;
  return block_ == nullptr ? none : block_->region;
}

// --- Segment
// --------------------------------------------------------------------------------------

Segment::Segment(std::shared_ptr<lib::ClientState> client, std::shared_ptr<lib::SegmentEntry> entry)
    : client_(std::move(client)), entry_(std::move(entry)) {}
Segment::Segment(Segment&&) noexcept = default;
Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  if (entry_ != nullptr) client_->close_segment(*entry_);
  client_ = std::move(other.client_);
  entry_ = std::move(other.entry_);
  return *this;
}
Segment::~Segment() {
  if (entry_ != nullptr) client_->close_segment(*entry_);
}

SegmentId Segment::id() const {
  return entry_ == nullptr ? SegmentId::none : SegmentId{entry_->id};
}
const std::string& Segment::name() const {
  static const std::string none;
  return entry_ == nullptr ? none : entry_->name;
}
Result<std::vector<RemoteRegion>> Segment::regions() const {
  if (entry_ == nullptr) return Status(Code::invalid_argument, "an empty Segment");
  return client_->segment_regions(*entry_);
}

// --- Batch
// ----------------------------------------------------------------------------------------

namespace {

Status not_ours() {
  return {Code::invalid_argument, "the batch is empty or of another client"};
}

}  // namespace

Batch::Batch(std::shared_ptr<lib::ClientState> client, lib::BatchState* state)
    : client_(std::move(client)), state_(state) {}
Batch::Batch(Batch&& other) noexcept
    : client_(std::move(other.client_)), state_(std::exchange(other.state_, nullptr)) {}
Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) client_->free_batch(state_);
  client_ = std::move(other.client_);
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}
Batch::~Batch() {
  if (state_ != nullptr) client_->free_batch(state_);
}

TaskStatus Batch::status(TaskId task) const {
  if (state_ == nullptr) return {};
  if (client_->forked()) return {.reason = TaskReason::daemon_gone};
  return state_->status(client_->tables(), task);
}
BatchStatus Batch::overall() const {
  if (state_ == nullptr) return {.state = State::invalid};
  if (client_->forked()) return {.state = State::invalid, .reason = TaskReason::daemon_gone};
  return state_->overall(client_->tables());
}
bool Batch::done() const {
  if (state_ == nullptr || client_->forked()) return true;
  return state_->done(client_->tables());
}
Status Batch::wait(std::chrono::nanoseconds timeout) const {
  if (state_ == nullptr) return {Code::daemon_gone, "the batch was freed"};
  return client_->wait(*state_, timeout);
}
std::uint32_t Batch::tasks() const {
  return state_ == nullptr ? 0 : state_->task_count.load(std::memory_order_acquire);
}
std::uint32_t Batch::capacity() const {
  return state_ == nullptr ? 0 : state_->capacity;
}

// --- Client
// ---------------------------------------------------------------------------------------

Client::Client(std::shared_ptr<lib::ClientState> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) state_->close();
  state_ = std::move(other.state_);
  return *this;
}
Client::~Client() {
  if (state_ != nullptr) state_->close();
}

Result<Client> Client::connect(const ConnectOptions& options) {
  if (!options.name.empty() && !is_valid_name(options.name)) {
    return Status(Code::invalid_argument,
                  "a client name is 1 to 63 of letters, digits, '.', '_', '-', not beginning with "
                  "'.' or '-'");
  }
  for (const Class cls : options.classes) {
    if (cls < Class::foreground || cls > Class::background) {
      return Status(Code::invalid_argument,
                    "there is no class " + std::to_string(static_cast<unsigned>(cls)));
    }
  }
  std::string path = options.socket;
  if (path.empty()) {
    const char* named = std::getenv(kSocketVariable);
    path = named != nullptr && *named != '\0' ? named : kDefaultSocketPath;
  }
  auto state = std::make_shared<lib::ClientState>(options, std::move(path));
  if (Status status = state->start(); !status.ok()) return status;
  return Client(std::move(state));
}

Result<Memory> Client::allocate(std::size_t bytes, const AllocateOptions& options) {
  Result<std::shared_ptr<lib::MemoryBlock>> block = state_->allocate(bytes, options);
  if (!block.ok()) return block.status();
  return Memory(std::move(*block));
}
Result<Region> Client::register_memory(void* address, std::size_t bytes, const Rights& access,
                                       const RegisterOptions& options) {
  return state_->register_memory(address, bytes, access, options);
}
Result<Region> Client::register_fd(int fd, std::uint64_t offset, std::size_t length, void* address,
                                   const Rights& access, const RegisterOptions& options) {
  return state_->register_fd(fd, offset, length, address, access, options);
}
Status Client::unregister(const Region& region) {
  return state_->unregister(region.id);
}
Status Client::unregister_wait(const Region& region, std::chrono::nanoseconds timeout) {
  return state_->unregister_wait(region.id, timeout);
}

Result<Segment> Client::open_segment(std::string_view name) {
  Result<std::shared_ptr<lib::SegmentEntry>> entry = state_->open_segment(name);
  if (!entry.ok()) return entry.status();
  return Segment(state_, std::move(*entry));
}

Result<Batch> Client::allocate_batch(std::uint32_t tasks) {
  Result<lib::BatchState*> batch = state_->allocate_batch(tasks);
  if (!batch.ok()) return batch.status();
  return Batch(state_, *batch);
}
Status Client::submit(Batch& batch, std::span<const Request> requests,
                      const SubmitOptions& options) {
  if (batch.state_ == nullptr || batch.client_ != state_) return not_ours();
  return state_->submit(*batch.state_, requests, options);
}
Status Client::submit_wait(Batch& batch, std::span<const Request> requests,
                           const SubmitOptions& options, std::chrono::nanoseconds timeout) {
  if (batch.state_ == nullptr || batch.client_ != state_) return not_ours();
  return state_->submit_wait(*batch.state_, requests, options, timeout);
}
Status Client::wait_verdict(const Batch& batch, std::chrono::nanoseconds timeout) {
  if (batch.state_ == nullptr || batch.client_ != state_) return not_ours();
  return state_->wait_verdict(*batch.state_, timeout);
}
Status Client::cancel(const Batch& batch, TaskId task) {
  if (batch.state_ == nullptr || batch.client_ != state_) return not_ours();
  return state_->cancel(*batch.state_, task);
}
Status Client::cancel(const Batch& batch) {
  if (batch.state_ == nullptr || batch.client_ != state_) return not_ours();
  return state_->cancel_all(*batch.state_);
}
void Client::free_batch(Batch& batch) {
  batch = Batch();
}

Result<int> Client::completion_fd() {
  return state_->completion_fd();
}
Status Client::drive() {
  return state_->drive();
}

Result<NotificationId> Client::send_notification(const Segment& segment, std::string_view name,
                                                 std::string_view message,
                                                 const NotifyOptions& options) {
  if (segment.client_ != state_ || segment.entry_ == nullptr) {
    return Status(Code::invalid_argument, "a segment of this client is needed");
  }
  lib::BatchState* after = nullptr;
  if (options.after != nullptr) {
    if (options.after->state_ == nullptr || options.after->client_ != state_) return not_ours();
    after = options.after->state_;
  }
  return state_->send_notification(*segment.entry_, name, message, after);
}
TaskStatus Client::notification_status(NotificationId id) const {
  return state_->notification_status(id);
}
Result<NotificationBatch> Client::receive_notifications() {
  return state_->receive_notifications();
}

std::uint64_t Client::id() const {
  return state_->welcome().client;
}
const std::string& Client::name() const {
  return state_->name();
}
ClientLimits Client::limits() const {
  const Welcome welcome = state_->welcome();
  const auto highest =
      welcome.highest_class == 0 ? Class::foreground : static_cast<Class>(welcome.highest_class);
  return {state_->largest_call(),
          welcome.limits.largest_owner,
          welcome.limits.owners,
          welcome.limits.bytes,
          welcome.sizes.slots,
          welcome.limits.regions,
          highest,
          std::string(welcome.quota.view())};
}
std::string Client::daemon_version() const {
  return std::string(state_->welcome().version.view());
}
bool Client::attached() const {
  return state_->attached();
}
std::uint64_t Client::reattaches() const {
  return state_->reattaches();
}
Result<std::string> Client::query(std::string_view kind, std::string_view argument) {
  return state_->query(kind, argument);
}

}  // namespace v1
}  // namespace tentq
