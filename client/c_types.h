// Between the C structs and the C++ types: copies as much of a struct as both sides know, by its
// size member, and remembers a thread's last failure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tentq/tentq.h"
#include "tentq/tentq.hpp"

namespace tentq::lib {

// The caller's struct as this library knows it; what the caller does not know of is zero.
template <class Struct>
Struct read_struct(const Struct* from) {
  Struct copy{};
  if (from != nullptr) std::memcpy(&copy, from, std::min(from->size, sizeof(Struct)));
  return copy;
}

// Writes what the caller knows of; its size member stays.
template <class Struct>
void write_struct(const Struct& from, Struct* to) {
  const std::size_t known = std::min(to->size, sizeof(Struct));
  if (known <= sizeof to->size) return;
  std::memcpy(reinterpret_cast<std::byte*>(to) + sizeof to->size,
              reinterpret_cast<const std::byte*>(&from) + sizeof to->size, known - sizeof to->size);
}

// Remembers the text of a failure for this thread; the code is the result.
tentq_code answer(const Status& status);

ConnectOptions to_options(const tentq_connect_options* options);
Rights to_rights(const tentq_rights* rights);
SubmitOptions to_options(const tentq_submit_options* options, TaskId* first_task);
std::chrono::nanoseconds to_duration(std::uint64_t ns);
void write_status(const TaskStatus& status, tentq_task_status* to);
void write_status(const BatchStatus& status, tentq_batch_status* to);
void write_region(const Region& region, tentq_region* to);

}  // namespace tentq::lib
