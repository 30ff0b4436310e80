// The C interface over the C++ one: a handle is a C++ handle on the heap. See tentq.h.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "client/c_types.h"

using tentq::Code;
using tentq::Result;
using tentq::Status;
using tentq::lib::answer;
using tentq::lib::to_duration;

// Batches and segments know their client, which must not be disconnected before their last use.
struct tentq_client {
  tentq::Client client;
};
struct tentq_memory {
  tentq::Memory memory;
};
struct tentq_segment {
  tentq::Client* client;
  tentq::Segment segment;
};
struct tentq_batch {
  tentq::Client* client;
  tentq::Batch batch;
};
struct tentq_inbox {
  tentq::NotificationBatch batch;
};

namespace {

// The requests as C++ ones; the thread's buffer, good until its next call.
std::span<const tentq::Request> convert(const tentq_request* requests, size_t count) {
  thread_local std::vector<tentq::Request> buffer;
  buffer.clear();
  for (size_t i = 0; i < count; ++i) {
    const tentq_request& from = requests[i];
    // An opcode that does not fit is still an unknown one.
    const auto op = static_cast<tentq::Opcode>(from.op > 0xff ? 0xff : from.op);
    buffer.push_back(
        {op, from.local, tentq::SegmentId{from.segment}, from.remote_offset, from.length});
  }
  return buffer;
}

tentq_code missing() {
  return answer(Status(Code::invalid_argument, "an argument is NULL"));
}

}  // namespace

extern "C" {

tentq_code tentq_connect(const tentq_connect_options* options, tentq_client** client) {
  if (client == nullptr) return missing();
  Result<tentq::Client> made = tentq::Client::connect(tentq::lib::to_options(options));
  if (made.ok()) *client = new tentq_client{std::move(*made)};
  return answer(made.status());
}
void tentq_disconnect(tentq_client* client) {
  delete client;
}

tentq_code tentq_class_by_name(const char* name, tentq_class* cls) {
  if (name == nullptr || cls == nullptr) return missing();
  const tentq::Result<tentq::Class> found = tentq::class_by_name(name);
  if (!found.ok()) return answer(found.status());
  *cls = static_cast<tentq_class>(*found);
  return TENTQ_OK;
}
tentq_code tentq_get_limits(const tentq_client* client, tentq_limits* limits) {
  if (client == nullptr || limits == nullptr) return missing();
  const tentq::ClientLimits now = client->client.limits();
  tentq_limits from{};
  from.largest_call = now.largest_call;
  from.slots = now.slots;
  from.regions = now.regions;
  from.largest_owner = now.largest_owner;
  from.owners = now.owners;
  from.bytes = now.bytes;
  now.quota.copy(from.quota, sizeof from.quota - 1);
  from.highest_class = static_cast<std::uint32_t>(now.highest_class);
  tentq::lib::write_struct(from, limits);
  return TENTQ_OK;
}
uint64_t tentq_client_id(const tentq_client* client) {
  return client->client.id();
}
int tentq_attached(const tentq_client* client) {
  return client->client.attached() ? 1 : 0;
}

tentq_code tentq_allocate(tentq_client* client, size_t bytes, int huge, const tentq_rights* rights,
                          tentq_memory** memory) {
  if (client == nullptr || memory == nullptr) return missing();
  Result<tentq::Memory> made =
      client->client.allocate(bytes, {.access = tentq::lib::to_rights(rights), .huge = huge != 0});
  if (made.ok()) *memory = new tentq_memory{std::move(*made)};
  return answer(made.status());
}
void* tentq_memory_data(const tentq_memory* memory) {
  return memory->memory.data();
}
size_t tentq_memory_bytes(const tentq_memory* memory) {
  return memory->memory.size();
}
void tentq_memory_region(const tentq_memory* memory, tentq_region* region) {
  tentq::lib::write_region(memory->memory.region(), region);
}
void tentq_free_memory(tentq_memory* memory) {
  delete memory;
}

tentq_code tentq_register_fd(tentq_client* client, int fd, uint64_t offset, size_t bytes,
                             void* address, const tentq_rights* rights, tentq_region* region) {
  if (client == nullptr || region == nullptr) return missing();
  const Result<tentq::Region> made =
      client->client.register_fd(fd, offset, bytes, address, tentq::lib::to_rights(rights));
  if (made.ok()) tentq::lib::write_region(*made, region);
  return answer(made.status());
}
tentq_code tentq_unregister(tentq_client* client, uint32_t region) {
  if (client == nullptr) return missing();
  tentq::Region named;
  named.id = region;
  return answer(client->client.unregister(named));
}
tentq_code tentq_unregister_wait(tentq_client* client, uint32_t region, uint64_t timeout_ns) {
  if (client == nullptr) return missing();
  tentq::Region named;
  named.id = region;
  return answer(client->client.unregister_wait(named, to_duration(timeout_ns)));
}

tentq_code tentq_open_segment(tentq_client* client, const char* name, tentq_segment** segment) {
  if (client == nullptr || name == nullptr || segment == nullptr) return missing();
  Result<tentq::Segment> made = client->client.open_segment(name);
  if (made.ok()) *segment = new tentq_segment{&client->client, std::move(*made)};
  return answer(made.status());
}
uint32_t tentq_segment_id(const tentq_segment* segment) {
  return static_cast<uint32_t>(segment->segment.id());
}
void tentq_close_segment(tentq_segment* segment) {
  delete segment;
}

tentq_code tentq_segment_regions(const tentq_segment* segment, tentq_remote_region* regions,
                                 size_t room, size_t* count) {
  if (segment == nullptr || count == nullptr || (regions == nullptr && room > 0)) return missing();
  const Result<std::vector<tentq::RemoteRegion>> all = segment->segment.regions();
  if (!all.ok()) return answer(all.status());
  *count = all->size();
  for (size_t i = 0; i < std::min(room, all->size()); ++i) {
    const tentq::RemoteRegion& from = (*all)[i];
    regions[i] = {from.offset, from.size, static_cast<uint32_t>(from.access), 0};
  }
  return TENTQ_OK;
}

tentq_code tentq_allocate_batch(tentq_client* client, uint32_t tasks, tentq_batch** batch) {
  if (client == nullptr || batch == nullptr) return missing();
  Result<tentq::Batch> made = client->client.allocate_batch(tasks);
  if (made.ok()) *batch = new tentq_batch{&client->client, std::move(*made)};
  return answer(made.status());
}
void tentq_free_batch(tentq_batch* batch) {
  delete batch;
}

tentq_code tentq_submit(tentq_batch* batch, const tentq_request* requests, size_t count,
                        const tentq_submit_options* options, uint32_t* first_task) {
  if (batch == nullptr || (requests == nullptr && count > 0)) return missing();
  return answer(batch->client->submit(batch->batch, convert(requests, count),
                                      tentq::lib::to_options(options, first_task)));
}
tentq_code tentq_submit_wait(tentq_batch* batch, const tentq_request* requests, size_t count,
                             const tentq_submit_options* options, uint64_t timeout_ns,
                             uint32_t* first_task) {
  if (batch == nullptr || (requests == nullptr && count > 0)) return missing();
  return answer(batch->client->submit_wait(batch->batch, convert(requests, count),
                                           tentq::lib::to_options(options, first_task),
                                           to_duration(timeout_ns)));
}
tentq_code tentq_wait_verdict(tentq_batch* batch, uint64_t timeout_ns) {
  if (batch == nullptr) return missing();
  return answer(batch->client->wait_verdict(batch->batch, to_duration(timeout_ns)));
}

void tentq_get_task_status(const tentq_batch* batch, uint32_t task, tentq_task_status* status) {
  tentq::lib::write_status(batch->batch.status(task), status);
}
void tentq_get_batch_status(const tentq_batch* batch, tentq_batch_status* status) {
  tentq::lib::write_status(batch->batch.overall(), status);
}
int tentq_batch_done(const tentq_batch* batch) {
  return batch->batch.done() ? 1 : 0;
}
tentq_code tentq_wait_batch(const tentq_batch* batch, uint64_t timeout_ns) {
  if (batch == nullptr) return missing();
  return answer(batch->batch.wait(to_duration(timeout_ns)));
}
tentq_code tentq_cancel(tentq_batch* batch, uint32_t task) {
  if (batch == nullptr) return missing();
  return answer(batch->client->cancel(batch->batch, task));
}
tentq_code tentq_cancel_batch(tentq_batch* batch) {
  if (batch == nullptr) return missing();
  return answer(batch->client->cancel(batch->batch));
}

tentq_code tentq_completion_fd(tentq_client* client, int* fd) {
  if (client == nullptr || fd == nullptr) return missing();
  const Result<int> made = client->client.completion_fd();
  if (made.ok()) *fd = *made;
  return answer(made.status());
}
tentq_code tentq_drive(tentq_client* client) {
  if (client == nullptr) return missing();
  return answer(client->client.drive());
}

tentq_code tentq_send_notification(tentq_segment* segment, const char* name, const void* message,
                                   size_t message_bytes, const tentq_batch* after, uint64_t* id) {
  if (segment == nullptr || (message == nullptr && message_bytes > 0)) return missing();
  const std::string_view text(static_cast<const char*>(message), message_bytes);
  const Result<tentq::NotificationId> sent =
      segment->client->send_notification(segment->segment, name == nullptr ? "" : name, text,
                                         {.after = after == nullptr ? nullptr : &after->batch});
  if (sent.ok() && id != nullptr) *id = static_cast<uint64_t>(*sent);
  return answer(sent.status());
}
void tentq_notification_status(tentq_client* client, uint64_t id, tentq_task_status* status) {
  tentq::lib::write_status(client->client.notification_status(tentq::NotificationId{id}), status);
}
tentq_code tentq_receive_notifications(tentq_client* client, tentq_inbox** inbox) {
  if (client == nullptr || inbox == nullptr) return missing();
  Result<tentq::NotificationBatch> got = client->client.receive_notifications();
  if (got.ok()) *inbox = new tentq_inbox{std::move(*got)};
  return answer(got.status());
}
size_t tentq_inbox_count(const tentq_inbox* inbox) {
  return inbox->batch.notifications.size();
}
uint64_t tentq_inbox_lost(const tentq_inbox* inbox) {
  return inbox->batch.lost;
}
tentq_code tentq_inbox_get(const tentq_inbox* inbox, size_t index,
                           tentq_notification* notification) {
  if (inbox == nullptr || notification == nullptr) return missing();
  if (index >= inbox->batch.notifications.size()) {
    return answer(Status(Code::not_found, "the inbox has fewer notifications"));
  }
  const tentq::ReceivedNotification& from = inbox->batch.notifications[index];
  tentq_notification to{};
  to.sender = from.sender.c_str();
  to.name = from.name.c_str();
  to.message = from.message.c_str();
  to.name_bytes = from.name.size();
  to.message_bytes = from.message.size();
  tentq::lib::write_struct(to, notification);
  return TENTQ_OK;
}
void tentq_free_inbox(tentq_inbox* inbox) {
  delete inbox;
}

}  // extern "C"
