// Opening and closing segments, their regions, and queries.
#include <algorithm>

#include "client/client_state.h"
#include "shm/memory.h"

namespace tentq::lib {

namespace {

constexpr struct {
  std::string_view name;
  QueryKind kind;
} kQueries[] = {
    {"status", QueryKind::status},   {"queue", QueryKind::queue},
    {"clients", QueryKind::clients}, {"segments", QueryKind::segments},
    {"lanes", QueryKind::lanes},     {"owners", QueryKind::owners},
    {"explain", QueryKind::explain}, {"errors", QueryKind::errors},
};

}  // namespace

Status ClientState::open_at_daemon(Session& session, const SegmentEntry& entry, bool reattach,
                                   SegmentReply* reply) {
  auto message = make_message<OpenSegment>();
  message.incarnation = reattach ? entry.incarnation : 0;
  message.reattach = reattach ? 1 : 0;
  message.name.assign(entry.name);
  ControlChannel::Answer answer;
  Status status = session.channel().ask(message, {}, &answer);
  if (!status.ok()) return status;
  const auto* got = answer.as<SegmentReply>();
  if (got == nullptr) return {Code::internal_error, "the daemon's answer is not one to OPEN"};
  if (got->status != StatusCode::ok) {
    return {static_cast<Code>(got->status), std::string(got->text.view())};
  }
  *reply = *got;
  return {};
}

Status ClientState::list_at_daemon(Session& session, std::uint32_t handle,
                                   std::vector<RemoteRegion>* rows) {
  rows->clear();
  auto message = make_message<SegmentRegions>();
  message.segment = handle;
  for (;;) {
    ControlChannel::Answer answer;
    Status status = session.channel().ask(message, {}, &answer);
    if (!status.ok()) return status;
    const auto* page = answer.as<SegmentRegionsReply>();
    if (page == nullptr) return {Code::internal_error, "the daemon's answer is no list of regions"};
    if (page->status != StatusCode::ok) {
      return {static_cast<Code>(page->status), "the segment's regions cannot be listed"};
    }
    const std::uint32_t count = std::min(page->count, kRegionRows);
    for (std::uint32_t i = 0; i < count; ++i) {
      const RegionRow& row = page->rows[i];
      if (row.access == 0 || row.access > 2 || row.size == 0) continue;
      rows->push_back({row.base, row.size, static_cast<Access>(row.access)});
    }
    message.first += count;
    if (count == 0 || message.first >= page->total) return {};
  }
}

Result<std::shared_ptr<SegmentEntry>> ClientState::open_segment(std::string_view name) {
  if (Status status = usable(); !status.ok()) return status;
  if (name.empty() || name.size() >= decltype(OpenSegment::name)().bytes.size()) {
    return Status(Code::invalid_argument, "a segment's name is 1 to 255 bytes");
  }
  const std::shared_ptr<Session> session = attached_session();
  if (session == nullptr) return detached();
  SegmentEntry wanted;
  wanted.name = name;
  SegmentReply reply;
  Status status = open_at_daemon(*session, wanted, false, &reply);
  if (!status.ok()) return status;
  std::vector<RemoteRegion> rows;
  status = list_at_daemon(*session, reply.segment, &rows);
  if (!status.ok()) return status;
  const Guard hold(lock_);
  if (!attached_ || session_ != session) return detached();
  const std::shared_ptr<SegmentEntry> entry = segments_.add(std::move(wanted.name));
  entry->incarnation = reply.incarnation;
  entry->handle = reply.segment;
  entry->own = reply.incarnation == incarnation_;
  entry->regions = std::move(rows);
  return entry;
}

Result<std::vector<RemoteRegion>> ClientState::segment_regions(const SegmentEntry& entry) {
  if (Status status = usable(); !status.ok()) return status;
  std::shared_ptr<Session> session;
  std::uint32_t handle = 0;
  {
    const Guard hold(lock_);
    if (!attached_) return detached();
    if (entry.handle == 0) return Status(Code::stale_handle, entry.refusal);
    session = session_;
    handle = entry.handle;
  }
  std::vector<RemoteRegion> rows;
  Status status = list_at_daemon(*session, handle, &rows);
  if (!status.ok()) return status;
  return rows;
}

void ClientState::close_segment(SegmentEntry& entry) {
  if (!usable().ok()) return;
  {
    const Guard hold(lock_);
    entry.closed = true;
  }
  purge();
}

Result<std::string> ClientState::query(std::string_view kind, std::string_view argument) {
  if (Status status = usable(); !status.ok()) return status;
  const auto* const known = std::find_if(std::begin(kQueries), std::end(kQueries),
                                         [&](const auto& query) { return query.name == kind; });
  if (known == std::end(kQueries)) {
    return Status(Code::invalid_argument, "unknown query '" + std::string(kind) + "'");
  }
  auto message = make_message<Query>();
  if (argument.size() >= message.argument.bytes.size()) {
    return Status(Code::invalid_argument, "the query's argument is too long");
  }
  message.kind = known->kind;
  message.argument.assign(argument);
  const std::shared_ptr<Session> session = attached_session();
  if (session == nullptr) return detached();
  ControlChannel::Answer answer;
  Status status = session->channel().ask(message, {}, &answer);
  if (!status.ok()) return status;
  const auto* reply = answer.as<QueryReply>();
  if (reply == nullptr)
    return Status(Code::internal_error, "the daemon's answer is not one to QUERY");
  if (reply->status != StatusCode::ok) {
    return Status(static_cast<Code>(reply->status), std::string(reply->text.view()));
  }
  int error = 0;
  const shm::Mapping document = shm::Mapping::map(answer.fd.get(), 0, reply->document_bytes,
                                                  shm::Mapping::Mode::read_only, &error);
  if (!document.valid()) return Status(Code::exhausted, "the daemon's answer cannot be mapped");
  return std::string(reinterpret_cast<const char*>(document.data()), document.size());
}

}  // namespace tentq::lib
