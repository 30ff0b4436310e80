// What may arrive on a socket, parsed once from a copy: the one place where bytes of others become
// messages. No state, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "proto/control.h"

namespace tentq {

using ClientMessage = std::variant<Hello, Mapped, RegisterRegion, UnregisterRegion, OpenSegment,
                                   CloseSegment, SegmentRegions, Query, Command, Goodbye>;

// nullopt: unknown type, wrong size, or a text without its end.
std::optional<ClientMessage> parse_message(std::span<const std::byte> packet);

}  // namespace tentq
