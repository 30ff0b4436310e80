// The structs that daemons send each other, with the offset and size of each field, taken from the
// code; proto/peer.md is compared with them.
#pragma once

#include "proto/peer_data.h"
#include "tests/proto/struct_tables.h"

namespace tentq {

// Handshake and keepalive.
inline std::vector<StructTable> link_structs() {
  return {{"PeerHeader",
           sizeof(PeerHeader),
           {TENTQ_FIELD(PeerHeader, type), TENTQ_FIELD(PeerHeader, bytes),
            TENTQ_FIELD(PeerHeader, request)}},
          {"PeerHello",
           sizeof(PeerHello),
           {TENTQ_FIELD(PeerHello, header), TENTQ_FIELD(PeerHello, magic),
            TENTQ_FIELD(PeerHello, major), TENTQ_FIELD(PeerHello, minor),
            TENTQ_FIELD(PeerHello, role), TENTQ_FIELD(PeerHello, reserved0),
            TENTQ_FIELD(PeerHello, host), TENTQ_FIELD(PeerHello, epoch_counter),
            TENTQ_FIELD(PeerHello, epoch_random), TENTQ_FIELD(PeerHello, link),
            TENTQ_FIELD(PeerHello, connection), TENTQ_FIELD(PeerHello, features),
            TENTQ_FIELD(PeerHello, transports), TENTQ_FIELD(PeerHello, reserved1),
            TENTQ_FIELD(PeerHello, nonce), TENTQ_FIELD(PeerHello, advertised)}},
          {"PeerProof",
           sizeof(PeerProof),
           {TENTQ_FIELD(PeerProof, header), TENTQ_FIELD(PeerProof, proof)}},
          {"PeerReady",
           sizeof(PeerReady),
           {TENTQ_FIELD(PeerReady, header), TENTQ_FIELD(PeerReady, minor),
            TENTQ_FIELD(PeerReady, highest_class), TENTQ_FIELD(PeerReady, data_connections),
            TENTQ_FIELD(PeerReady, most_length)}},
          {"PeerRefused",
           sizeof(PeerRefused),
           {TENTQ_FIELD(PeerRefused, header), TENTQ_FIELD(PeerRefused, status),
            TENTQ_FIELD(PeerRefused, reserved), TENTQ_FIELD(PeerRefused, text)}},
          {"PeerPing", sizeof(PeerPing), {TENTQ_FIELD(PeerPing, header)}},
          {"PeerPong", sizeof(PeerPong), {TENTQ_FIELD(PeerPong, header)}}};
}

// Segments and notifications.
inline std::vector<StructTable> peer_segment_structs() {
  return {{"PeerOpenSegment",
           sizeof(PeerOpenSegment),
           {TENTQ_FIELD(PeerOpenSegment, header), TENTQ_FIELD(PeerOpenSegment, incarnation),
            TENTQ_FIELD(PeerOpenSegment, regions), TENTQ_FIELD(PeerOpenSegment, name)}},
          {"PeerSegment",
           sizeof(PeerSegment),
           {TENTQ_FIELD(PeerSegment, header), TENTQ_FIELD(PeerSegment, status),
            TENTQ_FIELD(PeerSegment, reserved), TENTQ_FIELD(PeerSegment, segment),
            TENTQ_FIELD(PeerSegment, incarnation), TENTQ_FIELD(PeerSegment, regions),
            TENTQ_FIELD(PeerSegment, text)}},
          {"PeerCloseSegment",
           sizeof(PeerCloseSegment),
           {TENTQ_FIELD(PeerCloseSegment, header), TENTQ_FIELD(PeerCloseSegment, segment)}},
          {"PeerListRegions",
           sizeof(PeerListRegions),
           {TENTQ_FIELD(PeerListRegions, header), TENTQ_FIELD(PeerListRegions, segment),
            TENTQ_FIELD(PeerListRegions, first), TENTQ_FIELD(PeerListRegions, reserved)}},
          {"PeerRegions",
           sizeof(PeerRegions),
           {TENTQ_FIELD(PeerRegions, header), TENTQ_FIELD(PeerRegions, status),
            TENTQ_FIELD(PeerRegions, reserved), TENTQ_FIELD(PeerRegions, total),
            TENTQ_FIELD(PeerRegions, first), TENTQ_FIELD(PeerRegions, count),
            TENTQ_FIELD(PeerRegions, rows)}},
          {"PeerNotify",
           sizeof(PeerNotify),
           {TENTQ_FIELD(PeerNotify, header), TENTQ_FIELD(PeerNotify, segment),
            TENTQ_FIELD(PeerNotify, sender_incarnation), TENTQ_FIELD(PeerNotify, serial),
            TENTQ_FIELD(PeerNotify, sender), TENTQ_FIELD(PeerNotify, name_bytes),
            TENTQ_FIELD(PeerNotify, message_bytes), TENTQ_FIELD(PeerNotify, reserved),
            TENTQ_FIELD(PeerNotify, payload)}},
          {"PeerNotified",
           sizeof(PeerNotified),
           {TENTQ_FIELD(PeerNotified, header), TENTQ_FIELD(PeerNotified, state),
            TENTQ_FIELD(PeerNotified, reserved0), TENTQ_FIELD(PeerNotified, reason),
            TENTQ_FIELD(PeerNotified, reserved1)}}};
}

// Fences, receiver credits, and the heads of data connections.
inline std::vector<StructTable> flow_structs() {
  return {{"PeerFence",
           sizeof(PeerFence),
           {TENTQ_FIELD(PeerFence, header), TENTQ_FIELD(PeerFence, connection)}},
          {"PeerFenced",
           sizeof(PeerFenced),
           {TENTQ_FIELD(PeerFenced, header), TENTQ_FIELD(PeerFenced, connection)}},
          {"PeerDemand",
           sizeof(PeerDemand),
           {TENTQ_FIELD(PeerDemand, header), TENTQ_FIELD(PeerDemand, sender_epoch),
            TENTQ_FIELD(PeerDemand, receiver_epoch), TENTQ_FIELD(PeerDemand, nonce),
            TENTQ_FIELD(PeerDemand, pool), TENTQ_FIELD(PeerDemand, uplink_busy),
            TENTQ_FIELD(PeerDemand, sent), TENTQ_FIELD(PeerDemand, freed),
            TENTQ_FIELD(PeerDemand, uncredited), TENTQ_FIELD(PeerDemand, oldest_ns),
            TENTQ_FIELD(PeerDemand, wanted)}},
          {"PeerGrant",
           sizeof(PeerGrant),
           {TENTQ_FIELD(PeerGrant, header), TENTQ_FIELD(PeerGrant, sender_epoch),
            TENTQ_FIELD(PeerGrant, receiver_epoch), TENTQ_FIELD(PeerGrant, nonce),
            TENTQ_FIELD(PeerGrant, pool), TENTQ_FIELD(PeerGrant, ttl_ms),
            TENTQ_FIELD(PeerGrant, limit), TENTQ_FIELD(PeerGrant, window)}},
          {"PeerWrite",
           sizeof(PeerWrite),
           {TENTQ_FIELD(PeerWrite, header), TENTQ_FIELD(PeerWrite, segment),
            TENTQ_FIELD(PeerWrite, offset), TENTQ_FIELD(PeerWrite, length),
            TENTQ_FIELD(PeerWrite, flags), TENTQ_FIELD(PeerWrite, checksum)}},
          {"PeerDone",
           sizeof(PeerDone),
           {TENTQ_FIELD(PeerDone, header), TENTQ_FIELD(PeerDone, reason),
            TENTQ_FIELD(PeerDone, reserved)}},
          {"PeerRead",
           sizeof(PeerRead),
           {TENTQ_FIELD(PeerRead, header), TENTQ_FIELD(PeerRead, segment),
            TENTQ_FIELD(PeerRead, offset), TENTQ_FIELD(PeerRead, length),
            TENTQ_FIELD(PeerRead, cls), TENTQ_FIELD(PeerRead, reserved)}},
          {"PeerData",
           sizeof(PeerData),
           {TENTQ_FIELD(PeerData, header), TENTQ_FIELD(PeerData, offset),
            TENTQ_FIELD(PeerData, length), TENTQ_FIELD(PeerData, queued_ns),
            TENTQ_FIELD(PeerData, flags), TENTQ_FIELD(PeerData, checksum),
            TENTQ_FIELD(PeerData, reason), TENTQ_FIELD(PeerData, reserved)}}};
}

inline std::vector<StructTable> peer_structs() {
  std::vector<StructTable> all;
  for (const auto& part : {link_structs(), peer_segment_structs(), flow_structs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace tentq
