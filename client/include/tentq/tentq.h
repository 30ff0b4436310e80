/* The C interface of tentq: the same calls as tentq.hpp, with opaque handles and plain structs.
 *
 * Structs carry their size first: set it with TENTQ_INIT (or to sizeof), so that a program built
 * against an older header goes on working. Sizes are bytes, durations and times nanoseconds; times
 * are those of CLOCK_MONOTONIC. Every call that can fail returns a tentq_code, TENTQ_OK when it did
 * what it says, and then tentq_last_error() has the text of the calling thread's last failure.
 * Out parameters are written only on TENTQ_OK.
 *
 * Threads: any call by any thread at any time, except that freeing a handle must not race with its
 * use. Only calls with `wait` in their name wait for transfers or for room; "round trip" means that
 * the daemon's answer is waited for (and TENTQ_DAEMON_GONE answered when it dies meanwhile). In a
 * forked child every call on what it inherited answers TENTQ_DAEMON_GONE.
 * Handles are freed with the call named beside their type; NULL is allowed there. After
 * tentq_disconnect, batches and segments of the client may only be read and freed. */
#ifndef TENTQ_TENTQ_H
#define TENTQ_TENTQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENTQ_API __attribute__((visibility("default")))

/* struct tentq_request request; TENTQ_INIT(&request); */
#define TENTQ_INIT(pointer)                             \
  do {                                                  \
    __builtin_memset((pointer), 0, sizeof(*(pointer))); \
    (pointer)->size = sizeof(*(pointer));               \
  } while (0)

typedef struct tentq_client tentq_client;   /* tentq_disconnect */
typedef struct tentq_memory tentq_memory;   /* tentq_free_memory */
typedef struct tentq_segment tentq_segment; /* tentq_close_segment */
typedef struct tentq_batch tentq_batch;     /* tentq_free_batch */
typedef struct tentq_inbox tentq_inbox;     /* tentq_free_inbox */

typedef enum tentq_code {
  TENTQ_OK = 0,
  TENTQ_INVALID_ARGUMENT = 1,  /* the call can never succeed as it is */
  TENTQ_TOO_MANY_REQUESTS = 2, /* over a limit now; the same call may succeed later */
  TENTQ_TOO_LARGE = 3,         /* larger than a limit; never succeeds */
  TENTQ_UNMEETABLE = 4,        /* its deadline cannot be met */
  TENTQ_NO_ROUTE = 5,          /* no transport reaches the segment */
  TENTQ_NOT_PERMITTED = 6,     /* rights, class or uid do not allow it */
  TENTQ_DRAINING = 7,          /* the daemon takes no new work */
  TENTQ_NOT_FOUND = 8,         /* no such segment, region, batch or task */
  TENTQ_BUSY = 9,              /* still in use; later */
  TENTQ_NAME_IN_USE = 10,      /* another live process holds the name */
  TENTQ_DAEMON_GONE = 11,      /* no daemon, or the connection to it was lost */
  TENTQ_TIMEOUT = 12,          /* the wait ended, not the work */
  TENTQ_UNSUPPORTED = 13,      /* not available in this build or for this memory */
  TENTQ_EXHAUSTED = 14,        /* memory, file descriptors or sessions are used up */
  TENTQ_INCOMPATIBLE = 15,     /* protocol versions do not match */
  TENTQ_STALE_HANDLE = 16,     /* the segment's exporter is no longer the one that was opened */
  TENTQ_BATCH_FULL = 17,       /* more tasks than the batch was allocated for */
  TENTQ_INTERNAL_ERROR = 18,   /* a fault of tentq itself */
  TENTQ_QUARANTINED = 19       /* the session broke the protocol and is shut out */
} tentq_code;

typedef enum tentq_state {
  TENTQ_PENDING = 0,
  TENTQ_COMPLETED = 1, /* all bytes moved; of a write: the other side sees them */
  TENTQ_FAILED = 2,
  TENTQ_TIMED_OUT = 3, /* its deadline or its max_queue_wait passed */
  TENTQ_CANCELED = 4,
  TENTQ_NO_TASK = 255 /* there is no such task */
} tentq_state;

typedef enum tentq_opcode { TENTQ_READ = 0, TENTQ_WRITE = 1 } tentq_opcode;

typedef enum tentq_class {
  TENTQ_FOREGROUND = 1,
  TENTQ_STANDARD = 2,
  TENTQ_PREFETCH = 3,
  TENTQ_BACKGROUND = 4
} tentq_class;

/* The class that a name means: "foreground", "default", "prefetch", "background", or what the
 * transfer is for: foreground_get (foreground); weight_loading, unspecified (standard);
 * background_prefetch (prefetch); migration, checkpoint, background_offload (background). Case does
 * not count, and '-' is '_'. Errors: INVALID_ARGUMENT, with the names that there are. */
TENTQ_API tentq_code tentq_class_by_name(const char* name, tentq_class* cls);

typedef enum tentq_access {
  TENTQ_ACCESS_NONE = 0,
  TENTQ_REMOTE_READ = 1,
  TENTQ_REMOTE_READ_WRITE = 2
} tentq_access;

typedef enum tentq_scope {
  TENTQ_SAME_UID = 0,
  TENTQ_UID = 1,
  TENTQ_GID = 2,
  TENTQ_NAME = 3,
  TENTQ_EVERYONE = 4
} tentq_scope;

/* --- texts: static, never to be freed ----------------------------------------------------------
 */

/* Names of codes, states and task reasons: "too_many_requests". */
TENTQ_API const char* tentq_code_name(tentq_code code);
TENTQ_API const char* tentq_state_name(tentq_state state);
TENTQ_API const char* tentq_reason_name(uint16_t reason);
/* What to do about it, one sentence; "" when there is nothing to do. */
TENTQ_API const char* tentq_code_remedy(tentq_code code);
TENTQ_API const char* tentq_reason_remedy(uint16_t reason);
/* 1: the identical call or transfer may succeed later. */
TENTQ_API int tentq_may_retry(tentq_code code);
TENTQ_API int tentq_reason_may_retry(uint16_t reason);
/* Text of the calling thread's last failed call; valid until its next call. Never NULL. */
TENTQ_API const char* tentq_last_error(void);

/* --- client ------------------------------------------------------------------------------------
 */

/* Zero means the default where one is named. */
typedef struct tentq_connect_options {
  size_t size;
  const char* name;    /* 1 to 63 of [A-Za-z0-9._-]; NULL or "": anonymous, exports nothing */
  const char* socket;  /* NULL: $TENTQ_SOCKET, else /run/tentq/tentqd.sock */
  uint32_t class_mask; /* bit (1 << tentq_class); 0: all that are granted */
  uint8_t no_background_thread; /* 1: no library thread; see tentq_drive */
  uint8_t promise_drive; /* 1: the caller calls tentq_drive when tentq_completion_fd is readable */
  uint8_t no_resubmit;   /* 1: nothing is repeated after a daemon's death */
  uint8_t no_spin;       /* 1: waiting calls sleep at once */
  uint64_t attach_timeout_ns;   /* 0: 5 s */
  uint64_t reattach_timeout_ns; /* 0: 30 s */
  uint64_t spin_ns;             /* 0: 20 us */
  size_t mailbox;               /* notifications kept; 0: 1,024 */
} tentq_connect_options;

/* Attaches; takes at most attach_timeout_ns. options may be NULL. Errors: DAEMON_GONE,
 * NOT_PERMITTED, NAME_IN_USE, INCOMPATIBLE, EXHAUSTED, DRAINING, INVALID_ARGUMENT. */
TENTQ_API tentq_code tentq_connect(const tentq_connect_options* options, tentq_client** client);
/* Cancels what is queued, waits for quiet (at most reattach_timeout_ns) and detaches. */
TENTQ_API void tentq_disconnect(tentq_client* client);

typedef struct tentq_limits {
  size_t size;
  uint32_t largest_call; /* owners of one submit, after merging */
  uint32_t slots;        /* owners outstanding or in batches not yet freed */
  uint32_t regions;
  uint32_t reserved;
  uint64_t largest_owner; /* bytes of one request, after merging */
  uint64_t owners;        /* outstanding */
  uint64_t bytes;         /* outstanding */
  char quota[128];        /* name of the client's quota; "" = none */
  uint32_t highest_class; /* a tentq_class: the most urgent one that the quota allows */
  uint32_t reserved2;
} tentq_limits;

TENTQ_API tentq_code tentq_get_limits(const tentq_client* client, tentq_limits* limits);
/* As `tentqctl clients` shows it; changes when the client is re-attached. */
TENTQ_API uint64_t tentq_client_id(const tentq_client* client);
/* 1: attached; 0 between a daemon's death and the re-attach. */
TENTQ_API int tentq_attached(const tentq_client* client);

/* --- memory ------------------------------------------------------------------------------------
 */

typedef struct tentq_rights {
  size_t size;
  tentq_access host; /* for clients of this host in `scope` */
  tentq_scope scope;
  uint32_t scope_id; /* of TENTQ_UID and TENTQ_GID */
  tentq_access other_hosts;
  const char* scope_name; /* of TENTQ_NAME */
  uint8_t read_only;      /* 1: the client itself never reads into it */
} tentq_rights;

typedef struct tentq_region {
  size_t size;
  uint32_t id; /* never reused by this client; 0 = none */
  uint32_t reserved;
  void* data;
  size_t bytes;
  uint64_t segment_offset; /* where others find it */
} tentq_region;

/* `bytes` rounded up to pages (2 MiB with huge = 1), shared with the daemon, touched and
 * registered. rights NULL: read and write for clients of the same uid. Round trip. Errors:
 * EXHAUSTED, INVALID_ARGUMENT, DAEMON_GONE. */
TENTQ_API tentq_code tentq_allocate(tentq_client* client, size_t bytes, int huge,
                                    const tentq_rights* rights, tentq_memory** memory);
TENTQ_API void* tentq_memory_data(const tentq_memory* memory);
TENTQ_API size_t tentq_memory_bytes(const tentq_memory* memory);
TENTQ_API void tentq_memory_region(const tentq_memory* memory, tentq_region* region);
/* Unregisters and unmaps it; transfers that still use it go on in the daemon. */
TENTQ_API void tentq_free_memory(tentq_memory* memory);
/* Registers bytes [offset, offset + bytes) of a memfd, tmpfs or hugetlbfs file that the caller has
 * mapped shared at `address`; the fd is duplicated. Round trip. Errors: INVALID_ARGUMENT,
 * UNSUPPORTED, EXHAUSTED, NOT_PERMITTED, DAEMON_GONE. */
TENTQ_API tentq_code tentq_register_fd(tentq_client* client, int fd, uint64_t offset, size_t bytes,
                                       void* address, const tentq_rights* rights,
                                       tentq_region* region);
/* Round trip. Errors: BUSY while transfers use it, NOT_FOUND, DAEMON_GONE. */
TENTQ_API tentq_code tentq_unregister(tentq_client* client, uint32_t region);
/* Waits until nothing uses it. Errors: TIMEOUT, NOT_FOUND, DAEMON_GONE. */
TENTQ_API tentq_code tentq_unregister_wait(tentq_client* client, uint32_t region,
                                           uint64_t timeout_ns);

/* --- segments ----------------------------------------------------------------------------------
 */

/* "store-1", "tentq://host[:port]/store-1" or, by the directory, "tentq:///store-1". Round trip.
 * Errors: NOT_FOUND, NO_ROUTE, NOT_PERMITTED, EXHAUSTED, DAEMON_GONE. */
TENTQ_API tentq_code tentq_open_segment(tentq_client* client, const char* name,
                                        tentq_segment** segment);
/* Names it in requests. */
TENTQ_API uint32_t tentq_segment_id(const tentq_segment* segment);
TENTQ_API void tentq_close_segment(tentq_segment* segment);

typedef struct tentq_remote_region {
  uint64_t offset; /* in the segment's address space */
  uint64_t bytes;
  uint32_t access; /* tentq_access that this client has */
  uint32_t reserved;
} tentq_remote_region;

/* Its regions in order of offset: fills at most `room` of them, and *count with how many there are.
 * Round trip. Errors: DAEMON_GONE, STALE_HANDLE, NOT_FOUND. */
TENTQ_API tentq_code tentq_segment_regions(const tentq_segment* segment,
                                           tentq_remote_region* regions, size_t room,
                                           size_t* count);

/* --- transfers ---------------------------------------------------------------------------------
 */

/* Room for `tasks` (at least 1) requests. Errors: INVALID_ARGUMENT, DAEMON_GONE. */
TENTQ_API tentq_code tentq_allocate_batch(tentq_client* client, uint32_t tasks,
                                          tentq_batch** batch);
/* Unfinished transfers go on; the handle is gone. */
TENTQ_API void tentq_free_batch(tentq_batch* batch);

/* An array of these has their own size as stride, so it has no size member. */
typedef struct tentq_request {
  uint32_t op;            /* tentq_opcode */
  uint32_t segment;       /* tentq_segment_id */
  void* local;            /* inside one registered region of this client */
  uint64_t remote_offset; /* in the segment: by default the exporter's address */
  size_t length;          /* bytes, not 0 */
} tentq_request;

typedef struct tentq_submit_options {
  size_t size;
  tentq_class cls;     /* 0: TENTQ_STANDARD */
  uint8_t no_merge;    /* 1: adjacent requests stay owners of their own */
  uint8_t no_resubmit; /* 1: never repeated after a daemon's death */
  uint8_t reserved[2];
  uint64_t deadline_ns;       /* from the call; 0 = none */
  uint64_t max_queue_wait_ns; /* from the call to its start; 0 = none */
  uint64_t cookie;            /* shown in `tentqctl owners` */
} tentq_submit_options;

/* All requests or none; never blocks. options may be NULL. *first_task (if not NULL) becomes the
 * number of the call's first task: they count from 0 in the batch. Errors: INVALID_ARGUMENT,
 * BATCH_FULL, TOO_LARGE, TOO_MANY_REQUESTS, NOT_PERMITTED, STALE_HANDLE, DRAINING, DAEMON_GONE. */
TENTQ_API tentq_code tentq_submit(tentq_batch* batch, const tentq_request* requests, size_t count,
                                  const tentq_submit_options* options, uint32_t* first_task);
/* The same, but waits for room at most timeout_ns. */
TENTQ_API tentq_code tentq_submit_wait(tentq_batch* batch, const tentq_request* requests,
                                       size_t count, const tentq_submit_options* options,
                                       uint64_t timeout_ns, uint32_t* first_task);
/* Waits until the daemon has accepted everything (OK) or refused something (why). */
TENTQ_API tentq_code tentq_wait_verdict(tentq_batch* batch, uint64_t timeout_ns);

typedef struct tentq_task_status {
  size_t size;
  uint32_t state;  /* tentq_state */
  uint16_t reason; /* see tentq_reason_name; 0 = none */
  uint16_t reserved;
  uint64_t bytes; /* moved; all of it when completed, else a lower bound */
  int64_t enqueued_ns, dispatched_ns, completed_ns; /* 0 = not known or never */
} tentq_task_status;

typedef struct tentq_batch_status {
  size_t size;
  uint32_t state;  /* pending while any task is; then failed, timed out, canceled, else completed */
  uint16_t reason; /* of the first task that did not complete */
  uint16_t reserved;
  uint32_t tasks, pending, completed, failed, timed_out, canceled;
  uint64_t bytes;
} tentq_batch_status;

/* Neither a system call nor a lock. A number that was never submitted reads TENTQ_NO_TASK. */
TENTQ_API void tentq_get_task_status(const tentq_batch* batch, uint32_t task,
                                     tentq_task_status* status);
TENTQ_API void tentq_get_batch_status(const tentq_batch* batch, tentq_batch_status* status);
/* 1: every task submitted so far is done. */
TENTQ_API int tentq_batch_done(const tentq_batch* batch);
/* Until it is done. Errors: TIMEOUT, DAEMON_GONE once its client is gone. */
TENTQ_API tentq_code tentq_wait_batch(const tentq_batch* batch, uint64_t timeout_ns);
/* The owner that holds the task, and so every task merged with it. Errors: NOT_FOUND,
 * TOO_MANY_REQUESTS (no room to ask; retry). */
TENTQ_API tentq_code tentq_cancel(tentq_batch* batch, uint32_t task);
TENTQ_API tentq_code tentq_cancel_batch(tentq_batch* batch);

/* --- event loops -------------------------------------------------------------------------------
 */

/* An fd that stays the client's; readable when there is news. Errors: EXHAUSTED, DAEMON_GONE. */
TENTQ_API tentq_code tentq_completion_fd(tentq_client* client, int* fd);
/* When it is readable: takes the news and re-arms the fd; look at statuses afterwards. Errors:
 * DAEMON_GONE while there is no daemon. */
TENTQ_API tentq_code tentq_drive(tentq_client* client);

/* --- notifications -----------------------------------------------------------------------------
 */

/* To the exporter of the segment: name of at most 64 bytes, message of at most 4,096. `after` (may
 * be NULL): delivered once all its tasks are completed. *id (may be NULL) names it. Never blocks.
 * Errors: INVALID_ARGUMENT, TOO_MANY_REQUESTS, DAEMON_GONE. */
TENTQ_API tentq_code tentq_send_notification(tentq_segment* segment, const char* name,
                                             const void* message, size_t message_bytes,
                                             const tentq_batch* after, uint64_t* id);
/* COMPLETED: it is in the receiver's mailbox. */
TENTQ_API void tentq_notification_status(tentq_client* client, uint64_t id,
                                         tentq_task_status* status);
/* Takes what has arrived; may be nothing. Errors: INVALID_ARGUMENT, DAEMON_GONE. */
TENTQ_API tentq_code tentq_receive_notifications(tentq_client* client, tentq_inbox** inbox);

typedef struct tentq_notification {
  size_t size;
  const char* sender;  /* "" when it is anonymous */
  const char* name;    /* terminated, but may hold zero bytes: see name_bytes */
  const char* message; /* likewise */
  size_t name_bytes;
  size_t message_bytes;
} tentq_notification;

TENTQ_API size_t tentq_inbox_count(const tentq_inbox* inbox);
/* Dropped so far because the client did not take them in time. */
TENTQ_API uint64_t tentq_inbox_lost(const tentq_inbox* inbox);
/* The texts live as long as the inbox. Errors: NOT_FOUND. */
TENTQ_API tentq_code tentq_inbox_get(const tentq_inbox* inbox, size_t index,
                                     tentq_notification* notification);
TENTQ_API void tentq_free_inbox(tentq_inbox* inbox);

#ifdef __cplusplus
}
#endif

#endif
