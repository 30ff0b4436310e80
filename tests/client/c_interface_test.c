/* The C interface, compiled as C11: everything that a C program needs, against a daemon whose
 * socket is the first argument. Exit code 0: all as expected. */
#include <stdio.h>
#include <string.h>

#include "tentq/tentq.h"

static int failures = 0;
#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, tentq_last_error()); \
      ++failures;                                                                              \
    }                                                                                          \
  } while (0)

static const uint64_t second = 1000000000;

static tentq_client* attach(const char* socket, const char* name) {
  tentq_connect_options options;
  TENTQ_INIT(&options);
  options.name = name;
  options.socket = socket;
  tentq_client* client = NULL;
  CHECK(tentq_connect(&options, &client) == TENTQ_OK);
  return client;
}

static void transfers(tentq_client* engine, tentq_segment* segment, tentq_memory* local,
                      uint64_t remote) {
  tentq_batch* batch = NULL;
  CHECK(tentq_allocate_batch(engine, 4, &batch) == TENTQ_OK);
  char* data = tentq_memory_data(local);
  tentq_request requests[2] = {
      {TENTQ_READ, tentq_segment_id(segment), data, remote, 100},
      {TENTQ_READ, tentq_segment_id(segment), data + 200, remote + 200, 50}};
  tentq_submit_options options;
  TENTQ_INIT(&options);
  options.cls = TENTQ_FOREGROUND;
  options.deadline_ns = 20 * second;
  uint32_t first = 99;
  CHECK(tentq_submit(batch, requests, 2, &options, &first) == TENTQ_OK);
  CHECK(first == 0);
  CHECK(tentq_wait_batch(batch, 20 * second) == TENTQ_OK);
  CHECK(tentq_wait_verdict(batch, second) == TENTQ_OK);
  tentq_task_status status;
  TENTQ_INIT(&status);
  tentq_get_task_status(batch, 1, &status);
  CHECK(status.state == TENTQ_COMPLETED && status.bytes == 50);
  CHECK(strcmp(tentq_reason_name(status.reason), "none") == 0);
  tentq_get_task_status(batch, 2, &status);
  CHECK(status.state == TENTQ_NO_TASK);
  CHECK(data[0] == 7 && data[99] == 7 && data[249] == 7 && data[250] == 0);
  requests[0].length = 0;
  CHECK(tentq_submit(batch, requests, 1, NULL, NULL) == TENTQ_INVALID_ARGUMENT);
  CHECK(strstr(tentq_last_error(), "length 0") != NULL);
  requests[0].op = 1000;
  requests[0].length = 1;
  CHECK(tentq_submit(batch, requests, 1, NULL, NULL) == TENTQ_INVALID_ARGUMENT);
  CHECK(tentq_submit(batch, NULL, 1, NULL, NULL) == TENTQ_INVALID_ARGUMENT);
  CHECK(tentq_submit_wait(batch, requests, 0, NULL, second, NULL) == TENTQ_OK);
  CHECK(tentq_cancel(batch, 3) == TENTQ_NOT_FOUND);
  CHECK(tentq_cancel_batch(batch) == TENTQ_OK);
  tentq_batch_status overall;
  TENTQ_INIT(&overall);
  tentq_get_batch_status(batch, &overall);
  CHECK(overall.state == TENTQ_COMPLETED && overall.tasks == 2 && overall.bytes == 150);
  CHECK(tentq_batch_done(batch) == 1);
  tentq_free_batch(batch);
}

static void notifications(tentq_client* store, tentq_client* engine, tentq_segment* segment) {
  uint64_t id = 0;
  CHECK(tentq_send_notification(segment, "name", "mess\0ge", 7, NULL, &id) == TENTQ_OK);
  tentq_inbox* inbox = NULL;
  do {
    tentq_free_inbox(inbox);
    inbox = NULL;
    CHECK(tentq_receive_notifications(store, &inbox) == TENTQ_OK);
  } while (failures == 0 && tentq_inbox_count(inbox) == 0);
  tentq_notification got;
  TENTQ_INIT(&got);
  CHECK(tentq_inbox_get(inbox, 0, &got) == TENTQ_OK);
  CHECK(strcmp(got.sender, "c-engine") == 0 && strcmp(got.name, "name") == 0);
  CHECK(got.message_bytes == 7 && memcmp(got.message, "mess\0ge", 8) == 0);
  CHECK(tentq_inbox_get(inbox, 1, &got) == TENTQ_NOT_FOUND);
  CHECK(tentq_inbox_lost(inbox) == 0);
  tentq_free_inbox(inbox);
  tentq_task_status status;
  TENTQ_INIT(&status);
  do {
    tentq_notification_status(engine, id, &status);
  } while (status.state == TENTQ_PENDING);
  CHECK(status.state == TENTQ_COMPLETED);
}

static void old_structs(tentq_client* client) {
  /* A program that knows only the first two members: what lies behind them stays untouched. */
  tentq_limits limits;
  memset(&limits, 0x55, sizeof limits);
  limits.size = sizeof(size_t) + sizeof(uint32_t);
  CHECK(tentq_get_limits(client, &limits) == TENTQ_OK);
  CHECK(limits.largest_call != 0x55555555u);
  CHECK(limits.slots == 0x55555555u);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tentq_client* store = attach(argv[1], "c-store");
  tentq_client* engine = attach(argv[1], "c-engine");
  if (failures != 0) return 1;
  tentq_memory* exported = NULL;
  tentq_memory* local = NULL;
  tentq_rights rights;
  TENTQ_INIT(&rights);
  rights.host = TENTQ_REMOTE_READ;
  CHECK(tentq_allocate(store, 4096, 0, &rights, &exported) == TENTQ_OK);
  CHECK(tentq_allocate(engine, 4096, 0, NULL, &local) == TENTQ_OK);
  memset(tentq_memory_data(exported), 7, tentq_memory_bytes(exported));
  tentq_region region;
  TENTQ_INIT(&region);
  tentq_memory_region(exported, &region);
  CHECK(region.id != 0 && region.bytes == 4096);
  tentq_segment* segment = NULL;
  CHECK(tentq_open_segment(engine, "nobody", &segment) == TENTQ_NOT_FOUND);
  CHECK(tentq_open_segment(engine, "c-store", &segment) == TENTQ_OK);
  tentq_remote_region remote;
  size_t count = 0;
  CHECK(tentq_segment_regions(segment, &remote, 1, &count) == TENTQ_OK);
  CHECK(count == 1 && remote.bytes == 4096 && remote.access == TENTQ_REMOTE_READ);
  transfers(engine, segment, local, region.segment_offset);
  notifications(store, engine, segment);
  old_structs(engine);
  int fd = -1;
  CHECK(tentq_completion_fd(engine, &fd) == TENTQ_OK && fd >= 0);
  CHECK(tentq_drive(engine) == TENTQ_OK);
  CHECK(tentq_attached(engine) == 1 && tentq_client_id(engine) != 0);
  CHECK(tentq_unregister(engine, 12345) == TENTQ_NOT_FOUND);
  CHECK(tentq_may_retry(TENTQ_TOO_MANY_REQUESTS) == 1 && tentq_may_retry(TENTQ_TOO_LARGE) == 0);
  CHECK(tentq_code_remedy(TENTQ_TOO_LARGE)[0] != '\0');
  tentq_close_segment(segment);
  tentq_free_memory(local);
  tentq_free_memory(exported);
  tentq_disconnect(engine);
  tentq_disconnect(store);
  return failures == 0 ? 0 : 1;
}
