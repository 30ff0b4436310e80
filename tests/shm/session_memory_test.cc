// REQ and STA: made, sealed and mapped; what a client must not be able to do with them.
#include "shm/session_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace tentq::shm {
namespace {

SessionSizes small_sizes() {
  SessionSizes sizes;
  sizes.class_mask = bit_of(ClassId::foreground) | bit_of(ClassId::prefetch);
  sizes.ring_cells = 16;
  sizes.ring_reserved = 4;
  sizes.slots = 100;
  sizes.arena_bytes = 8192;
  return sizes;
}

class SessionMemory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(create_session_memory(sizes_, &owned_), 0);
    ASSERT_EQ(map_session_memory(owned_.req_fd.get(), owned_.sta_fd.get(), sizes_, &mapped_), 0);
  }
  const SessionSizes sizes_ = small_sizes();
  OwnedSessionMemory owned_;
  MappedSessionMemory mapped_;
};

TEST_F(SessionMemory, BothSidesSeeOneMemory) {
  EXPECT_EQ(mapped_.view.sta()->magic, kStaMagic);
  EXPECT_EQ(mapped_.view.sta()->layout_hash, kLayoutHash);
  EXPECT_EQ(mapped_.view.sta()->state, static_cast<std::uint32_t>(DaemonState::starting));
  owned_.view.sta()->heads[3].value = 77;
  EXPECT_EQ(mapped_.view.sta()->heads[3].value, 77u);
  mapped_.view.req()->tails[3].value = 88;
  EXPECT_EQ(owned_.view.req()->tails[3].value, 88u);
  mapped_.view.ring(ClassId::prefetch)[15].body.cookie = 99;
  EXPECT_EQ(owned_.view.ring(ClassId::prefetch)[15].body.cookie, 99u);
  owned_.view.slots()[99].owner = 5;
  EXPECT_EQ(mapped_.view.slots()[99].owner, 5u);
}

TEST_F(SessionMemory, PartsLieInsideTheirAreasAndApart) {
  const SessionLayout& layout = owned_.view.layout();
  EXPECT_GE(layout.ring_offset(ClassId::foreground), sizeof(ReqHeader));
  EXPECT_EQ(layout.ring_offset(ClassId::prefetch),
            layout.ring_offset(ClassId::foreground) + layout.ring_bytes());
  EXPECT_GE(layout.arena_offset(), layout.ring_offset(ClassId::prefetch) + layout.ring_bytes());
  EXPECT_EQ(layout.req_bytes(), owned_.req.size());
  EXPECT_GE(layout.req_bytes(), layout.arena_offset() + sizes_.arena_bytes);
  EXPECT_GE(layout.slots_offset(), layout.dirty_offset() + layout.dirty_words() * 8);
  EXPECT_GE(layout.sta_bytes(), layout.slots_offset() + sizes_.slots * sizeof(Slot));
  EXPECT_EQ(layout.sta_bytes(), owned_.sta.size());
}

TEST_F(SessionMemory, ClientCannotWriteTheStatusArea) {
  int error = 0;
  const int fd = owned_.sta_fd.get();
  EXPECT_FALSE(Mapping::map(fd, 0, kPage, Mapping::Mode::read_write, &error).valid());
  EXPECT_EQ(error, EPERM);
  EXPECT_LT(::pwrite(fd, "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(fd, 0), 0);
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  const Fd reopened(::open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (reopened.valid()) {
    EXPECT_LT(::pwrite(reopened.get(), "x", 1, 0), 0);
    EXPECT_FALSE(Mapping::map(reopened.get(), 0, kPage, Mapping::Mode::read_write, &error).valid());
  }
  EXPECT_NE(::mprotect(mapped_.sta.data(), kPage, PROT_READ | PROT_WRITE), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);  // not the sanitizers' report
    mapped_.view.sta()->state = 4;
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
}

TEST_F(SessionMemory, ClientCannotCutTheRequestsAwayUnderTheDaemon) {
  EXPECT_NE(::ftruncate(owned_.req_fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(owned_.req_fd.get(), 1 << 30), 0);
}

TEST_F(SessionMemory, OnceSealedTheRequestsTakeNoNewWriter) {
  ASSERT_EQ(seal_requests(owned_), 0);
  int error = 0;
  EXPECT_FALSE(
      Mapping::map(owned_.req_fd.get(), 0, kPage, Mapping::Mode::read_write, &error).valid());
  EXPECT_EQ(error, EPERM);
  EXPECT_NE(::fallocate(owned_.req_fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage),
            0);
  mapped_.view.req()->published.value = 3;
  EXPECT_EQ(owned_.view.req()->published.value, 3u);
}

TEST_F(SessionMemory, ClientThatForbidsFurtherSealsIsNoticed) {
  ASSERT_EQ(::fcntl(owned_.req_fd.get(), F_ADD_SEALS, F_SEAL_SEAL), 0);
  EXPECT_EQ(seal_requests(owned_), EPERM);
}

TEST_F(SessionMemory, MappingChecksSizesKindsAndSeals) {
  MappedSessionMemory out;
  const int req = owned_.req_fd.get(), sta = owned_.sta_fd.get();
  SessionSizes other = sizes_;
  other.ring_cells = 32;
  EXPECT_EQ(map_session_memory(req, sta, other, &out), EPROTO);
  other = sizes_;
  other.slots = 1000;
  EXPECT_EQ(map_session_memory(req, sta, other, &out), EPROTO);
  EXPECT_EQ(map_session_memory(sta, req, sizes_, &out), EPROTO);
  // The right size, but its maker could still write it or cut it.
  int error = 0;
  const Fd unsealed = create_memory("t", owned_.sta.size(), false, &error);
  EXPECT_EQ(map_session_memory(req, unsealed.get(), sizes_, &out), EPROTO);
  ASSERT_EQ(seal_size(unsealed.get()), 0);
  EXPECT_EQ(map_session_memory(req, unsealed.get(), sizes_, &out), EPROTO);
  const Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(map_session_memory(req, file.get(), sizes_, &out), EPROTO);
  EXPECT_EQ(map_session_memory(req, -1, sizes_, &out), EPROTO);
  EXPECT_FALSE(out.req.valid());
}

TEST_F(SessionMemory, AnotherLayoutIsRefused) {
  MappedSessionMemory out;
  owned_.view.sta()->layout_hash ^= 1;
  EXPECT_EQ(map_session_memory(owned_.req_fd.get(), owned_.sta_fd.get(), sizes_, &out), EPROTO);
  owned_.view.sta()->layout_hash ^= 1;
  owned_.view.sta()->magic = 0;
  EXPECT_EQ(map_session_memory(owned_.req_fd.get(), owned_.sta_fd.get(), sizes_, &out), EPROTO);
}

TEST(SessionSizesCheck, OneStepOutsideEachBoundIsRefused) {
  EXPECT_TRUE(is_valid(small_sizes()));
  const auto with = [](auto change) {
    SessionSizes sizes = small_sizes();
    change(sizes);
    return is_valid(sizes);
  };
  EXPECT_FALSE(with([](SessionSizes& s) { s.class_mask = 0; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.class_mask = 1u << kMaxClasses; }));
  EXPECT_TRUE(with([](SessionSizes& s) { s.class_mask = 1u << (kMaxClasses - 1); }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.ring_cells = 0; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.ring_cells = 24; }));
  EXPECT_TRUE(with([](SessionSizes& s) { s.ring_cells = 1u << 15; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.ring_cells = 1u << 16; }));
  EXPECT_TRUE(with([](SessionSizes& s) { s.ring_reserved = 15; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.ring_reserved = 16; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.slots = 0; }));
  EXPECT_TRUE(with([](SessionSizes& s) { s.slots = 1u << 22; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.slots = (1u << 22) + 1; }));
  EXPECT_FALSE(with([](SessionSizes& s) { s.reserved = 1; }));
  OwnedSessionMemory owned;
  EXPECT_EQ(create_session_memory(SessionSizes{}, &owned), EINVAL);
}

}  // namespace
}  // namespace tentq::shm
