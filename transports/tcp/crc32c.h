// CRC-32C (Castagnoli, as in RFC 3720), by the processor's instruction where it has one. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tentq {

// Continues `so_far` (0 = the beginning) over `bytes`.
std::uint32_t crc32c(std::uint32_t so_far, std::span<const std::byte> bytes);
// The same by table, whatever the processor has.
std::uint32_t crc32c_by_table(std::uint32_t so_far, std::span<const std::byte> bytes);
// Whether crc32c() uses the instruction here.
bool has_crc32c_instruction();

// Over memory that a client can take away: nothing when touching it failed. Needs
// install_sigbus_guard(); without it the process ends then.
std::optional<std::uint32_t> guarded_crc32c(std::uint32_t so_far, std::span<const std::byte> bytes);

}  // namespace tentq
