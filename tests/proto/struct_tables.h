// Every struct that crosses a process border, with the offset and size of each of its fields, taken
// from the code; the README's tables are compared with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/control.h"

namespace tentq {

struct FieldRow {
  std::string name;
  std::size_t offset, size;
};
struct StructTable {
  std::string name;
  std::size_t size;
  std::vector<FieldRow> fields;
};

#define TENTQ_FIELD(type, field) \
  { #field, offsetof(type, field), sizeof(type::field) }

// Of REQ, STA and the arena.
inline std::vector<StructTable> memory_structs() {
  return {
      {"CellBody",
       sizeof(CellBody),
       {TENTQ_FIELD(CellBody, kind),
        TENTQ_FIELD(CellBody, op),
        TENTQ_FIELD(CellBody, flags),
        TENTQ_FIELD(CellBody, group_size),
        TENTQ_FIELD(CellBody, group_index),
        TENTQ_FIELD(CellBody, slot),
        TENTQ_FIELD(CellBody, slot_generation),
        TENTQ_FIELD(CellBody, local_region),
        TENTQ_FIELD(CellBody, remote_segment),
        TENTQ_FIELD(CellBody, local_offset),
        TENTQ_FIELD(CellBody, remote_offset),
        TENTQ_FIELD(CellBody, length),
        TENTQ_FIELD(CellBody, deadline_ns),
        TENTQ_FIELD(CellBody, max_queue_wait_ns),
        TENTQ_FIELD(CellBody, arena_offset),
        TENTQ_FIELD(CellBody, arena_length),
        TENTQ_FIELD(CellBody, cookie),
        TENTQ_FIELD(CellBody, lane),
        TENTQ_FIELD(CellBody, reserved0),
        TENTQ_FIELD(CellBody, reserved)}},
      {"Cell", sizeof(Cell), {TENTQ_FIELD(Cell, seq), TENTQ_FIELD(Cell, body)}},
      {"Extent",
       sizeof(Extent),
       {TENTQ_FIELD(Extent, local_offset), TENTQ_FIELD(Extent, remote_offset),
        TENTQ_FIELD(Extent, length)}},
      {"NotifyHead",
       sizeof(NotifyHead),
       {TENTQ_FIELD(NotifyHead, serial), TENTQ_FIELD(NotifyHead, after_count),
        TENTQ_FIELD(NotifyHead, name_bytes), TENTQ_FIELD(NotifyHead, message_bytes)}},
      {"SlotRef", sizeof(SlotRef), {TENTQ_FIELD(SlotRef, slot), TENTQ_FIELD(SlotRef, generation)}},
      {"Slot",
       sizeof(Slot),
       {TENTQ_FIELD(Slot, word), TENTQ_FIELD(Slot, bytes_done), TENTQ_FIELD(Slot, enqueued_ns),
        TENTQ_FIELD(Slot, dispatched_ns), TENTQ_FIELD(Slot, completed_ns), TENTQ_FIELD(Slot, owner),
        TENTQ_FIELD(Slot, detail), TENTQ_FIELD(Slot, reserved)}},
      {"CreditCounters",
       sizeof(CreditCounters),
       {TENTQ_FIELD(CreditCounters, owners), TENTQ_FIELD(CreditCounters, bytes),
        TENTQ_FIELD(CreditCounters, extents)}},
      {"CreditWish",
       sizeof(CreditWish),
       {TENTQ_FIELD(CreditWish, serial), TENTQ_FIELD(CreditWish, owners),
        TENTQ_FIELD(CreditWish, bytes), TENTQ_FIELD(CreditWish, extents),
        TENTQ_FIELD(CreditWish, waiting)}},
      {"PaddedCounter", sizeof(PaddedCounter), {TENTQ_FIELD(PaddedCounter, value)}},
      {"PaddedFlag", sizeof(PaddedFlag), {TENTQ_FIELD(PaddedFlag, value)}},
      {"ReqHeader",
       sizeof(ReqHeader),
       {TENTQ_FIELD(ReqHeader, published), TENTQ_FIELD(ReqHeader, waiters),
        TENTQ_FIELD(ReqHeader, completion_fd_armed), TENTQ_FIELD(ReqHeader, tails),
        TENTQ_FIELD(ReqHeader, consumed), TENTQ_FIELD(ReqHeader, wanted)}},
      {"StaHeader",
       sizeof(StaHeader),
       {TENTQ_FIELD(StaHeader, magic), TENTQ_FIELD(StaHeader, layout_hash),
        TENTQ_FIELD(StaHeader, epoch_counter), TENTQ_FIELD(StaHeader, epoch_random),
        TENTQ_FIELD(StaHeader, state), TENTQ_FIELD(StaHeader, pad0),
        TENTQ_FIELD(StaHeader, full_levels), TENTQ_FIELD(StaHeader, pad1),
        TENTQ_FIELD(StaHeader, need_wakeup), TENTQ_FIELD(StaHeader, completions),
        TENTQ_FIELD(StaHeader, heads), TENTQ_FIELD(StaHeader, granted)}},
      {"SessionSizes",
       sizeof(SessionSizes),
       {TENTQ_FIELD(SessionSizes, class_mask), TENTQ_FIELD(SessionSizes, ring_cells),
        TENTQ_FIELD(SessionSizes, ring_reserved), TENTQ_FIELD(SessionSizes, slots),
        TENTQ_FIELD(SessionSizes, arena_bytes), TENTQ_FIELD(SessionSizes, reserved)}},
  };
}

// About a session as a whole.
inline std::vector<StructTable> session_messages() {
  return {
      {"ControlHeader",
       sizeof(ControlHeader),
       {TENTQ_FIELD(ControlHeader, type), TENTQ_FIELD(ControlHeader, bytes),
        TENTQ_FIELD(ControlHeader, request)}},
      {"Outstanding",
       sizeof(Outstanding),
       {TENTQ_FIELD(Outstanding, owners), TENTQ_FIELD(Outstanding, bytes),
        TENTQ_FIELD(Outstanding, extents)}},
      {"Hello",
       sizeof(Hello),
       {TENTQ_FIELD(Hello, header), TENTQ_FIELD(Hello, magic), TENTQ_FIELD(Hello, major),
        TENTQ_FIELD(Hello, minor), TENTQ_FIELD(Hello, class_mask), TENTQ_FIELD(Hello, layout_hash),
        TENTQ_FIELD(Hello, features), TENTQ_FIELD(Hello, incarnation), TENTQ_FIELD(Hello, token),
        TENTQ_FIELD(Hello, reattach), TENTQ_FIELD(Hello, pid), TENTQ_FIELD(Hello, name),
        TENTQ_FIELD(Hello, outstanding)}},
      {"SessionLimits",
       sizeof(SessionLimits),
       {TENTQ_FIELD(SessionLimits, largest_call), TENTQ_FIELD(SessionLimits, regions),
        TENTQ_FIELD(SessionLimits, largest_owner), TENTQ_FIELD(SessionLimits, owners),
        TENTQ_FIELD(SessionLimits, bytes), TENTQ_FIELD(SessionLimits, extents)}},
      {"Welcome",
       sizeof(Welcome),
       {TENTQ_FIELD(Welcome, header), TENTQ_FIELD(Welcome, client),
        TENTQ_FIELD(Welcome, epoch_counter), TENTQ_FIELD(Welcome, epoch_random),
        TENTQ_FIELD(Welcome, major), TENTQ_FIELD(Welcome, minor), TENTQ_FIELD(Welcome, max_class),
        TENTQ_FIELD(Welcome, features), TENTQ_FIELD(Welcome, token), TENTQ_FIELD(Welcome, sizes),
        TENTQ_FIELD(Welcome, limits), TENTQ_FIELD(Welcome, version),
        TENTQ_FIELD(Welcome, highest_class), TENTQ_FIELD(Welcome, downgraded),
        TENTQ_FIELD(Welcome, quota)}},
      {"Refused",
       sizeof(Refused),
       {TENTQ_FIELD(Refused, header), TENTQ_FIELD(Refused, status), TENTQ_FIELD(Refused, reserved),
        TENTQ_FIELD(Refused, text)}},
      {"Mapped", sizeof(Mapped), {TENTQ_FIELD(Mapped, header)}},
      {"Done",
       sizeof(Done),
       {TENTQ_FIELD(Done, header), TENTQ_FIELD(Done, status), TENTQ_FIELD(Done, reserved),
        TENTQ_FIELD(Done, text)}},
      {"Notification",
       sizeof(Notification),
       {TENTQ_FIELD(Notification, header), TENTQ_FIELD(Notification, sender_incarnation),
        TENTQ_FIELD(Notification, serial), TENTQ_FIELD(Notification, lost_before),
        TENTQ_FIELD(Notification, sender), TENTQ_FIELD(Notification, name_bytes),
        TENTQ_FIELD(Notification, message_bytes), TENTQ_FIELD(Notification, reserved),
        TENTQ_FIELD(Notification, payload)}},
      {"DaemonNotice",
       sizeof(DaemonNotice),
       {TENTQ_FIELD(DaemonNotice, header), TENTQ_FIELD(DaemonNotice, state),
        TENTQ_FIELD(DaemonNotice, reserved), TENTQ_FIELD(DaemonNotice, text)}},
      {"Goodbye", sizeof(Goodbye), {TENTQ_FIELD(Goodbye, header)}},
  };
}

// About regions and segments.
inline std::vector<StructTable> region_messages() {
  return {
      {"RegisterRegion",
       sizeof(RegisterRegion),
       {TENTQ_FIELD(RegisterRegion, header), TENTQ_FIELD(RegisterRegion, base),
        TENTQ_FIELD(RegisterRegion, size), TENTQ_FIELD(RegisterRegion, fd_offset),
        TENTQ_FIELD(RegisterRegion, flags), TENTQ_FIELD(RegisterRegion, host_access),
        TENTQ_FIELD(RegisterRegion, host_scope), TENTQ_FIELD(RegisterRegion, remote_access),
        TENTQ_FIELD(RegisterRegion, reserved0), TENTQ_FIELD(RegisterRegion, scope_id),
        TENTQ_FIELD(RegisterRegion, reserved1), TENTQ_FIELD(RegisterRegion, scope_name)}},
      {"RegionProgress",
       sizeof(RegionProgress),
       {TENTQ_FIELD(RegionProgress, header), TENTQ_FIELD(RegionProgress, done_bytes),
        TENTQ_FIELD(RegionProgress, total_bytes)}},
      {"RegionReply",
       sizeof(RegionReply),
       {TENTQ_FIELD(RegionReply, header), TENTQ_FIELD(RegionReply, status),
        TENTQ_FIELD(RegionReply, reserved), TENTQ_FIELD(RegionReply, region),
        TENTQ_FIELD(RegionReply, text)}},
      {"UnregisterRegion",
       sizeof(UnregisterRegion),
       {TENTQ_FIELD(UnregisterRegion, header), TENTQ_FIELD(UnregisterRegion, region),
        TENTQ_FIELD(UnregisterRegion, wait)}},
      {"OpenSegment",
       sizeof(OpenSegment),
       {TENTQ_FIELD(OpenSegment, header), TENTQ_FIELD(OpenSegment, incarnation),
        TENTQ_FIELD(OpenSegment, reattach), TENTQ_FIELD(OpenSegment, reserved),
        TENTQ_FIELD(OpenSegment, name)}},
      {"SegmentReply",
       sizeof(SegmentReply),
       {TENTQ_FIELD(SegmentReply, header), TENTQ_FIELD(SegmentReply, status),
        TENTQ_FIELD(SegmentReply, reserved), TENTQ_FIELD(SegmentReply, segment),
        TENTQ_FIELD(SegmentReply, incarnation), TENTQ_FIELD(SegmentReply, regions),
        TENTQ_FIELD(SegmentReply, text)}},
      {"CloseSegment",
       sizeof(CloseSegment),
       {TENTQ_FIELD(CloseSegment, header), TENTQ_FIELD(CloseSegment, segment),
        TENTQ_FIELD(CloseSegment, reserved)}},
      {"SegmentRegions",
       sizeof(SegmentRegions),
       {TENTQ_FIELD(SegmentRegions, header), TENTQ_FIELD(SegmentRegions, segment),
        TENTQ_FIELD(SegmentRegions, first)}},
      {"RegionRow",
       sizeof(RegionRow),
       {TENTQ_FIELD(RegionRow, base), TENTQ_FIELD(RegionRow, size), TENTQ_FIELD(RegionRow, access),
        TENTQ_FIELD(RegionRow, reserved)}},
      {"SegmentRegionsReply",
       sizeof(SegmentRegionsReply),
       {TENTQ_FIELD(SegmentRegionsReply, header), TENTQ_FIELD(SegmentRegionsReply, status),
        TENTQ_FIELD(SegmentRegionsReply, reserved), TENTQ_FIELD(SegmentRegionsReply, total),
        TENTQ_FIELD(SegmentRegionsReply, first), TENTQ_FIELD(SegmentRegionsReply, count),
        TENTQ_FIELD(SegmentRegionsReply, rows)}},
  };
}

// Of tentqctl.
inline std::vector<StructTable> query_messages() {
  return {
      {"Query",
       sizeof(Query),
       {TENTQ_FIELD(Query, header), TENTQ_FIELD(Query, kind), TENTQ_FIELD(Query, reserved),
        TENTQ_FIELD(Query, argument)}},
      {"QueryReply",
       sizeof(QueryReply),
       {TENTQ_FIELD(QueryReply, header), TENTQ_FIELD(QueryReply, status),
        TENTQ_FIELD(QueryReply, reserved), TENTQ_FIELD(QueryReply, document_bytes),
        TENTQ_FIELD(QueryReply, text)}},
      {"Command",
       sizeof(Command),
       {TENTQ_FIELD(Command, header), TENTQ_FIELD(Command, kind), TENTQ_FIELD(Command, reserved),
        TENTQ_FIELD(Command, argument)}},
      {"CommandReply",
       sizeof(CommandReply),
       {TENTQ_FIELD(CommandReply, header), TENTQ_FIELD(CommandReply, status),
        TENTQ_FIELD(CommandReply, reserved), TENTQ_FIELD(CommandReply, text)}},
  };
}

inline std::vector<StructTable> all_structs() {
  std::vector<StructTable> all;
  for (const auto& part :
       {memory_structs(), session_messages(), region_messages(), query_messages()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace tentq
