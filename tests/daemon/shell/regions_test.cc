// Rights of regions, and that nothing is unmapped while it is pinned.
#include "daemon/regions.h"

#include <gtest/gtest.h>

#include "tests/daemon/shell/memory.h"

namespace tentq {
namespace {

constexpr SessionId kOwner{1};
constexpr SessionId kOther{2};

class RegionsTest : public ::testing::Test {
 protected:
  RegionIndex add(std::uint64_t size = 4096) {
    RegionIndex index;
    std::string why;
    EXPECT_EQ(regions.add(test::make_region(0x10000, size, kOwner), &index, &why), StatusCode::ok);
    return index;
  }

  int disposed = 0;
  int released = 0;
  Regions regions{2, 16384, [this](shm::Mapping) { ++disposed; },
                  [this](const Region&) { ++released; }};
};

TEST_F(RegionsTest, StaysMappedUntilTheLastPinIsDropped) {
  const RegionIndex index = add();
  regions.pin(index);
  regions.pin(index);
  regions.unregister(index);
  EXPECT_EQ(disposed, 0);
  EXPECT_NE(regions.at(index).mapping.data(), nullptr);
  regions.unpin(index);
  EXPECT_EQ(disposed, 0);
  regions.unpin(index);
  EXPECT_EQ(disposed, 1);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(regions.count(), 0u);
  EXPECT_EQ(regions.registered_bytes(), 0u);
}

TEST_F(RegionsTest, UnpinnedRegionGoesWhenItIsUnregistered) {
  regions.unregister(add());
  EXPECT_EQ(disposed, 1);
}

TEST_F(RegionsTest, HostLimitsRefuseWithTheKeyToRaise) {
  std::string why;
  EXPECT_EQ(regions.room_for(16384, &why), StatusCode::ok);
  EXPECT_EQ(regions.room_for(16385, &why), StatusCode::exhausted);
  EXPECT_NE(why.find("memory.most_bytes"), std::string::npos);
  EXPECT_EQ(regions.room_for(~std::uint64_t{0}, &why), StatusCode::exhausted);
  add();
  add();
  EXPECT_EQ(regions.room_for(1, &why), StatusCode::exhausted);
  EXPECT_NE(why.find("sessions.host_regions"), std::string::npos);
}

TEST_F(RegionsTest, BytesOfUnregisteredButPinnedMemoryStayCharged) {
  const RegionIndex index = add(16384);
  regions.pin(index);
  regions.unregister(index);
  std::string why;
  EXPECT_EQ(regions.room_for(4096, &why), StatusCode::exhausted);
  regions.unpin(index);
  EXPECT_EQ(regions.room_for(4096, &why), StatusCode::ok);
}

TEST(Access, FollowsTheScope) {
  const std::vector<gid_t> groups = {100, 200};
  const Asker same{kOther, 1000, &groups, "engine-0"};
  const Asker stranger{kOther, 2000, &groups, "engine-1"};
  Region region = test::make_region(0, 4096, kOwner);
  region.host_access = RegionAccess::read;
  EXPECT_EQ(access_of(region, same), RegionAccess::read);
  EXPECT_EQ(access_of(region, stranger), RegionAccess::none);
  region.host_scope = RegionScope::uid;
  region.scope_id = 2000;
  EXPECT_EQ(access_of(region, same), RegionAccess::none);
  EXPECT_EQ(access_of(region, stranger), RegionAccess::read);
  region.host_scope = RegionScope::gid;
  region.scope_id = 200;
  EXPECT_EQ(access_of(region, stranger), RegionAccess::read);
  region.scope_id = 300;
  EXPECT_EQ(access_of(region, stranger), RegionAccess::none);
  region.host_scope = RegionScope::name;
  region.scope_name = "engine-1";
  EXPECT_EQ(access_of(region, same), RegionAccess::none);
  EXPECT_EQ(access_of(region, stranger), RegionAccess::read);
  region.host_scope = RegionScope::everyone;
  EXPECT_EQ(access_of(region, same), RegionAccess::read);
}

TEST(Access, OwnerHasEveryRightAndNobodyElseWithoutOne) {
  const std::vector<gid_t> groups = {100};
  Region region = test::make_region(0, 4096, kOwner);
  region.host_access = RegionAccess::none;
  region.host_scope = RegionScope::everyone;
  EXPECT_EQ(access_of(region, {kOwner, 1000, &groups, ""}), RegionAccess::read_write);
  EXPECT_EQ(access_of(region, {kOther, 1000, &groups, ""}), RegionAccess::none);
}

}  // namespace
}  // namespace tentq
