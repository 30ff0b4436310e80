// Allocating, registering and unregistering memory.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "client/client_state.h"
#include "shm/memory.h"

namespace tentq::lib {

namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

bool exports(const Rights& access) {
  return access.host != Access::none || access.other_hosts != Access::none;
}

Status memory_failure(const char* what, int error) {
  return {Code::exhausted, std::string(what) + ": " + std::strerror(error)};
}

}  // namespace

MemoryBlock::~MemoryBlock() {
  if (const std::shared_ptr<ClientState> owner = client.lock()) owner->release_block(*this);
}

Result<std::shared_ptr<MemoryBlock>> ClientState::allocate(std::size_t bytes,
                                                           const AllocateOptions& options) {
  if (Status status = usable(); !status.ok()) return status;
  const std::uint64_t unit = options.huge ? kHugePage : kPage;
  if (bytes == 0 || bytes > INT64_MAX - unit) {
    return Status(Code::invalid_argument, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  const std::uint64_t size = (bytes + unit - 1) / unit * unit;
  auto block = std::make_shared<MemoryBlock>();
  int error = 0;
  shm::Fd fd = shm::create_memory("tentq-payload", size, options.huge, &error);
  if (!fd.valid()) {
    return memory_failure(options.huge ? "no huge pages of that size" : "no memory of that size",
                          error);
  }
  if (error = shm::seal_size(fd.get()); error != 0) return memory_failure("sealing failed", error);
  block->mapping = shm::Mapping::map(fd.get(), 0, size, shm::Mapping::Mode::read_write, &error);
  if (!block->mapping.valid()) return memory_failure("mapping failed", error);
  // Touched here and not by the daemon: pages are charged to, and placed for, who touches first.
  error = shm::populate(block->mapping.data(), size, true, nullptr, nullptr);
  if (error != 0) return memory_failure("touching the pages failed", error);
  block->fd = std::make_shared<shm::Fd>(std::move(fd));
  if (options.registered) {
    const Result<Region> region =
        register_range({block->fd, 0, block->mapping.data(), size}, options.access,
                       {.segment_offset = options.segment_offset, .progress = options.progress});
    if (!region.ok()) return region.status();
    block->region = *region;
  }
  block->client = weak_from_this();
  const Guard hold(lock_);
  blocks_.push_back(block.get());
  return block;
}

Result<Region> ClientState::register_memory(void* address, std::size_t bytes, const Rights& access,
                                            const RegisterOptions& options) {
  if (Status status = usable(); !status.ok()) return status;
  auto* const data = static_cast<std::byte*>(address);
  FileRange range;
  {
    const Guard hold(lock_);
    for (const MemoryBlock* block : blocks_) {
      const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(data) -
                                    reinterpret_cast<std::uintptr_t>(block->mapping.data());
      if (offset >= block->mapping.size() || bytes > block->mapping.size() - offset) continue;
      range = {block->fd, offset, data, bytes};
    }
  }
  if (range.fd == nullptr) {
    return Status(Code::unsupported,
                  "this memory is not shared with the daemon: use memory from allocate(), or "
                  "register_fd() for memory of a memfd, tmpfs or hugetlbfs file");
  }
  return register_range(range, access, options);
}

Result<Region> ClientState::register_fd(int fd, std::uint64_t offset, std::size_t length,
                                        void* address, const Rights& access,
                                        const RegisterOptions& options) {
  if (Status status = usable(); !status.ok()) return status;
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    return Status(Code::invalid_argument,
                  "fd " + std::to_string(fd) + " is unusable: " + std::strerror(errno));
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (!S_ISREG(facts.st_mode)) {
    return Status(Code::unsupported, "only memfd, tmpfs and hugetlbfs files can be registered");
  }
  if (offset > size || length > size - offset) {
    return Status(Code::invalid_argument, "the file has " + std::to_string(size) +
                                              " bytes, fewer than the range to be registered");
  }
  if (address == nullptr) {
    return Status(Code::invalid_argument, "the address where the caller has mapped it is missing");
  }
  auto copy = std::make_shared<shm::Fd>(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy->valid()) return memory_failure("duplicating the fd failed", errno);
  return register_range({std::move(copy), offset, static_cast<std::byte*>(address), length}, access,
                        options);
}

Result<Region> ClientState::register_range(const FileRange& range, const Rights& access,
                                           const RegisterOptions& options) {
  const std::uint64_t base =
      options.segment_offset.value_or(reinterpret_cast<std::uintptr_t>(range.data));
  if (range.size == 0 || range.size > UINT64_MAX - base) {
    return Status(Code::invalid_argument, "the range is empty, or wraps around 2^64");
  }
  if (access.scope == Scope::name && access.scope_name.empty()) {
    return Status(Code::invalid_argument, "Scope::name needs scope_name");
  }
  if (!options_.name.empty() && exports(access)) {
    if (Status status = exporting_needs_service(); !status.ok()) return status;
  }
  struct stat facts {};
  if (::fstat(range.fd->get(), &facts) != 0) return memory_failure("the file is unusable", errno);
  std::shared_ptr<Session> session;
  RegionEntry* entry = nullptr;  // stays: only this call removes an entry that is registering
  {
    const Guard hold(lock_);
    if (!attached_) return detached();
    if (const RegionEntry* other = regions_.overlapping(range.data, range.size, base)) {
      return Status(Code::invalid_argument,
                    "the range overlaps region " + std::to_string(other->id) +
                        ", which is registered already; unregister that first");
    }
    session = session_;
    entry = &regions_.add(range.data, range.size);
    entry->segment_offset = base;
    entry->fd = range.fd;
    entry->fd_offset = range.offset;
    entry->device = facts.st_dev;
    entry->inode = facts.st_ino;
    entry->rights = access;
    entry->sparse = options.sparse;
  }
  std::uint32_t id = 0;
  Status status = register_at_daemon(*session, *entry, options.progress, &id);
  const Guard hold(lock_);
  if (status.ok() && (!attached_ || session_ != session)) status = detached();
  if (!status.ok()) {
    regions_.remove(entry->id);
    return status;
  }
  entry->session_id = id;
  entry->phase = RegionEntry::Phase::active;
  return Region{entry->id, entry->data, entry->size, entry->segment_offset};
}

Status ClientState::register_at_daemon(Session& session, RegionEntry& entry,
                                       const Progress& progress, std::uint32_t* id) {
  auto message = make_message<RegisterRegion>();
  const Rights& rights = entry.rights;
  const bool anonymous = options_.name.empty();
  message.base = entry.segment_offset;
  message.size = entry.size;
  message.fd_offset = entry.fd_offset;
  message.flags = (entry.sparse ? kRegionSparse : 0) | (rights.read_only ? kRegionReadOnly : 0);
  message.host_access = anonymous ? RegionAccess::none : static_cast<RegionAccess>(rights.host);
  message.host_scope = static_cast<RegionScope>(rights.scope);
  message.remote_access =
      anonymous ? RegionAccess::none : static_cast<RegionAccess>(rights.other_hosts);
  message.scope_id = rights.scope_id;
  message.scope_name.assign(rights.scope_name);
  const int fd = entry.fd->get();
  ControlChannel::Answer answer;
  Status status = session.channel().ask(message, std::span(&fd, 1), &answer,
                                        Clock::time_point::max(), progress);
  if (!status.ok()) return status;
  const auto* reply = answer.as<RegionReply>();
  if (reply == nullptr) return {Code::internal_error, "the daemon's answer is not one to REGISTER"};
  if (reply->status != StatusCode::ok) {
    return {static_cast<Code>(reply->status), std::string(reply->text.view())};
  }
  *id = reply->region;
  return {};
}

Status ClientState::unregister(std::uint32_t region) {
  if (Status status = usable(); !status.ok()) return status;
  {
    const Guard hold(lock_);
    // The daemon may not have seen all of them yet.
    if (region_in_use(region)) return {Code::busy, "transfers of this client use the region"};
  }
  return unregister_at_daemon(region, false, Clock::time_point::max());
}

Status ClientState::unregister_wait(std::uint32_t region, Duration timeout) {
  if (Status status = usable(); !status.ok()) return status;
  const Clock::time_point until = deadline_after(timeout);
  Status status = wait_until(until, std::chrono::milliseconds{100}, [&] {
    const Guard hold(lock_);
    return !region_in_use(region);
  });
  if (!status.ok()) return status;
  return unregister_at_daemon(region, true, until);
}

Status ClientState::unregister_at_daemon(std::uint32_t region, bool wait, Clock::time_point until) {
  std::shared_ptr<Session> session;
  auto message = make_message<UnregisterRegion>();
  {
    const Guard hold(lock_);
    RegionEntry* entry = regions_.by_id(region);
    if (entry == nullptr || entry->phase != RegionEntry::Phase::active) {
      return {Code::not_found, "region " + std::to_string(region) + " is not registered"};
    }
    if (!attached_) return detached();
    session = session_;
    message.region = entry->session_id;
    message.wait = wait ? 1 : 0;
    if (message.region == 0) {
      regions_.remove(region);
      return {};  // a restarted daemon has refused it
    }
    if (wait) {
      // Whatever the answer and whenever it comes: the daemon takes no new transfers of it.
      regions_.retire(*entry);
      entry->session_id = 0;
    }
  }
  ControlChannel::Answer answer;
  // The answer may come after `until`; whenever it comes, the region is gone then.
  Status status =
      session->channel().ask(message, {}, &answer, until, {},
                             [self = weak_from_this(), region](const ControlChannel::Answer& done) {
                               on_unregistered(self, region, done);
                             });
  if (!status.ok()) return status;
  const auto* done = answer.as<Done>();
  if (done == nullptr)
    return {Code::internal_error, "the daemon's answer is not one to UNREGISTER"};
  if (done->status == StatusCode::ok) return {};
  return {static_cast<Code>(done->status), std::string(done->text.view())};
}

void ClientState::on_unregistered(const std::weak_ptr<ClientState>& self, std::uint32_t region,
                                  const ControlChannel::Answer& answer) {
  const std::shared_ptr<ClientState> client = self.lock();
  const auto* done = answer.as<Done>();
  if (client == nullptr || done == nullptr) return;
  if (done->status != StatusCode::ok && done->status != StatusCode::not_found) return;
  const Guard hold(client->lock_);
  if (client->regions_.by_id(region) != nullptr) client->regions_.remove(region);
}

void ClientState::release_block(const MemoryBlock& block) {
  if (!usable().ok()) return;
  {
    const Guard hold(lock_);
    std::erase(blocks_, &block);
    const auto* const begin = block.mapping.data();
    std::vector<RegionEntry*> inside;
    for (const auto& [id, entry] : regions_.all()) {
      const bool within = entry->data >= begin && entry->data < begin + block.mapping.size();
      if (within && entry->phase == RegionEntry::Phase::active) inside.push_back(entry.get());
    }
    for (RegionEntry* entry : inside) regions_.retire(*entry);
  }
  purge();
}

}  // namespace tentq::lib
