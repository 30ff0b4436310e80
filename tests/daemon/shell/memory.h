// Regions for tests of the shell: real mappings of a few pages.
#pragma once

#include <gtest/gtest.h>

#include "daemon/regions.h"
#include "shm/memory.h"

namespace tentq::test {

inline Region make_region(std::uint64_t base, std::uint64_t size, SessionId owner,
                          std::uint32_t uid = 1000) {
  int error = 0;
  const shm::Fd fd = shm::create_memory("tentq-test", size, false, &error);
  EXPECT_EQ(error, 0);
  Region region;
  region.mapping = shm::Mapping::map(fd.get(), 0, size, shm::Mapping::Mode::read_write, &error);
  EXPECT_EQ(error, 0);
  region.base = base;
  region.size = size;
  region.owner = owner;
  region.uid = uid;
  region.host_access = RegionAccess::read_write;
  return region;
}

}  // namespace tentq::test
