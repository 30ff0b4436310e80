// Short forms of the client library for tests: what must succeed throws std::runtime_error with its
// text when it does not. Any thread, any process.
#pragma once

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "tentq/tentq.hpp"

namespace tentq::test {

// No transfer and no answer of a test takes longer.
inline constexpr std::chrono::seconds kLong{60};

inline void need(const Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + status.to_string());
}
template <class T>
T need(Result<T> result, const std::string& what) {
  need(result.status(), what);
  return std::move(result).value();
}

inline ConnectOptions connection(const std::string& socket, const std::string& name) {
  ConnectOptions options;
  options.socket = socket;
  options.name = name;
  return options;
}
inline Client attach(const ConnectOptions& options) {
  return need(Client::connect(options), "connect as '" + options.name + "'");
}
inline Client attach(const std::string& socket, const std::string& name) {
  return attach(connection(socket, name));
}

// Allocated at offset 0 of its segment.
inline Memory allocate_at(Client& client, std::size_t bytes, std::uint64_t segment_offset = 0,
                          const Rights& rights = {}) {
  AllocateOptions options;
  options.access = rights;
  options.segment_offset = segment_offset;
  return need(client.allocate(bytes, options), "allocate");
}

inline Request read_from(SegmentId segment, std::uint64_t offset, std::span<std::byte> into) {
  return {Opcode::read, into.data(), segment, offset, into.size()};
}
inline Request write_to(SegmentId segment, std::uint64_t offset, std::span<std::byte> from) {
  return {Opcode::write, from.data(), segment, offset, from.size()};
}

// A batch of as many owners of the same request, one call each.
inline Batch submit_again_and_again(Client& client, const Request& request, std::uint32_t owners,
                                    const SubmitOptions& options = {}) {
  Batch batch = need(client.allocate_batch(owners), "allocate_batch");
  for (std::uint32_t i = 0; i < owners; ++i) {
    need(client.submit_wait(batch, std::span(&request, 1), options, kLong), "submit");
  }
  return batch;
}

// Submits all in one call, waiting for room, and waits for the end.
inline BatchStatus transfer(Client& client, std::span<const Request> requests,
                            const SubmitOptions& options = {}) {
  const auto tasks = static_cast<std::uint32_t>(requests.size());
  Batch batch = need(client.allocate_batch(tasks), "allocate_batch");
  need(client.submit_wait(batch, requests, options, kLong), "submit");
  need(batch.wait(kLong), "wait");
  const BatchStatus outcome = batch.overall();
  client.free_batch(batch);
  return outcome;
}
inline BatchStatus transfer(Client& client, const Request& request,
                            const SubmitOptions& options = {}) {
  return transfer(client, std::span(&request, 1), options);
}
inline void must_complete(Client& client, const Request& request,
                          const SubmitOptions& options = {}) {
  const BatchStatus outcome = transfer(client, request, options);
  if (outcome.state == State::completed) return;
  throw std::runtime_error("a transfer ended " + std::string(to_string(outcome.state)) + ", " +
                           std::string(to_string(outcome.reason)));
}

}  // namespace tentq::test
