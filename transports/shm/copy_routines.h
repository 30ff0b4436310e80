// The ways to copy bytes, and the one wrapper around them. Any thread; sizes in bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tentq {

enum class CopyRoutine : std::uint8_t {
  libc,           // memcpy
  rep_movsb,      // the processor's own string copy
  avx2_cached,    // ordinary stores: the copy stays in the cache
  avx2_streamed,  // non-temporal stores: past the cache
  avx512_streamed,
};
inline constexpr std::array kCopyRoutines = {CopyRoutine::libc, CopyRoutine::rep_movsb,
                                             CopyRoutine::avx2_cached, CopyRoutine::avx2_streamed,
                                             CopyRoutine::avx512_streamed};

std::string_view name_of(CopyRoutine routine);

// Whether this processor has what the routine needs; `libc` always runs.
bool runs_here(CopyRoutine routine);

// Copies `length` bytes (0 is fine, any alignment). The ranges must not overlap: every routine may
// read a byte after it wrote an earlier one. When it returns, the bytes are ordered before every
// later store of this thread: routines with non-temporal stores, which a release store does not
// order, end with order_streamed_stores() in here. `routine` must run here.
void copy_bytes(CopyRoutine routine, std::byte* to, const std::byte* from, std::size_t length);

// The store fence. Only for who jumped out of copy_bytes (a fault): what it had stored so far must
// not land after the copy was reported as over.
void order_streamed_stores();

// Best for bytes that are in the cache, and for those that are not.
CopyRoutine cached_routine();
CopyRoutine streamed_routine();

}  // namespace tentq
