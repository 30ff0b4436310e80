// The hot path allocates nothing: submit, status, done and free of a batch that was used before.
#include <cstdlib>
#include <new>

#include "tests/client/fixture.h"

namespace {
thread_local std::uint64_t allocations = 0;
}  // namespace

// Counts for this thread; the library and the standard library call these as well.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace tentq::testing {
namespace {

class Allocation : public ClientTest {};

TEST_F(Allocation, NothingIsAllocatedOnceABatchIsThere) {
  start();
  Pair pair(connect("store-0"), connect("engine-0"));
  const std::vector<Request> requests = pair.apart(64, 64);
  std::vector<Batch> batches;
  for (int round = 0; round < 4; ++round) {
    batches.push_back(std::move(*pair.engine->allocate_batch(256)));
  }
  for (Batch& batch : batches) {
    for (int call = 0; call < 4; ++call) {
      const std::uint64_t before = allocations;
      const Status status = pair.engine->submit_wait(batch, requests, {.deadline = kLong}, kLong);
      EXPECT_EQ(allocations, before);
      ASSERT_TRUE(status.ok()) << status.to_string();
      ASSERT_TRUE(batch.wait(kLong).ok());
    }
    const std::uint64_t before = allocations;
    EXPECT_TRUE(batch.done());
    EXPECT_EQ(batch.status(255).state, State::completed);
    EXPECT_EQ(batch.overall().completed, 256u);
    EXPECT_EQ(allocations, before);
    pair.engine->free_batch(batch);
  }
  EXPECT_GT(allocations, 0u);  // it does count
}

TEST_F(Allocation, AFreedBatchIsUsedAgain) {
  start();
  Result<Client> client = connect("engine-0");
  client->allocate_batch(64).value();
  const std::uint64_t before = allocations;
  Result<Batch> again = client->allocate_batch(64);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(again.ok());
}

}  // namespace
}  // namespace tentq::testing
