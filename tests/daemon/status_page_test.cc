// The status page: written by the daemon's side, read by tentqctl's, which trusts nothing.
#include "daemon/status_page/status_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "client/ctl/status_page_reader.h"
#include "tests/daemon/fake_host.h"
#include "tests/support/temp_directory.h"

namespace tentq {
namespace {

using ctl::Liveness;
using ctl::StatusPicture;
using test::FakeHost;

class Page : public ::testing::Test {
 protected:
  std::unique_ptr<StatusPageWriter> make() {
    std::string why;
    auto writer = StatusPageWriter::create(
        path, {"/run/x/tentqd.sock", "/run/x/admin.sock", host.now()}, &why);
    EXPECT_NE(writer, nullptr) << why;
    return writer;
  }
  StatusPicture read() {
    StatusPicture picture;
    std::string why;
    EXPECT_TRUE(ctl::read_status_page(path, &picture, &why)) << why;
    return picture;
  }
  std::string refusal() {
    StatusPicture picture;
    std::string why;
    EXPECT_FALSE(ctl::read_status_page(path, &picture, &why));
    return why;
  }
  // Overwrites bytes of the file, as a broken disk or daemon would.
  void damage(std::size_t offset, const void* bytes, std::size_t size) {
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
    ::close(fd);
  }

  test::TempDirectory directory{"tentq-page"};
  std::string path = directory.file("status.shm");
  FakeHost host;
};

TEST_F(Page, TellsWhatTheDaemonTold) {
  const auto writer = make();
  const SessionId session = host.add_client("engine", 1000);
  host.submit(session, ClassId::foreground, 4096);
  host.submit(session, ClassId::background, 16 * test::kWindowBytes);
  host.errors.report(LogLevel::error, "shm.fault", "page is gone", "register again", host.now());
  host.advance(std::chrono::milliseconds{3});
  writer->update(host, host.errors);
  const StatusPicture picture = read();
  const StatusPageBody& body = *picture.body;
  EXPECT_EQ(body.version.view(), "0.1.0");
  EXPECT_EQ(body.pid, 4242u);
  EXPECT_EQ(body.state, static_cast<std::uint32_t>(DaemonState::running));
  EXPECT_EQ(body.socket_path.view(), "/run/x/tentqd.sock");
  EXPECT_EQ(body.policy.view(), "wdrr");
  EXPECT_EQ(body.class_count, kClassCount);
  EXPECT_EQ(body.classes[1].depth, 1u);
  EXPECT_EQ(body.classes[1].bytes, 4096u);
  EXPECT_EQ(body.classes[1].oldest_age_ns, 3'000'000u);
  EXPECT_EQ(body.lane_count, 2u);
  EXPECT_EQ(body.lanes[0].name.view(), "shm read");
  EXPECT_EQ(body.lanes[0].window_bytes, test::kWindowBytes);
  ASSERT_EQ(body.error_count, 1u);
  EXPECT_EQ(body.errors[0].cause.view(), "shm.fault");
  EXPECT_EQ(body.errors[0].count, 1u);
  EXPECT_EQ(body.enqueued, 2u);
  EXPECT_EQ(picture.heartbeat, host.now());
  EXPECT_EQ(body.updated_ns, to_ns(host.now()));
}

TEST_F(Page, IsReadableByAllAndWrittenByNobodyElse) {
  const auto writer = make();
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0444u);
  EXPECT_EQ(static_cast<std::size_t>(facts.st_size), sizeof(StatusPage));
  EXPECT_NE(::access((path + ".new").c_str(), F_OK), 0);
}

TEST_F(Page, IsReadableBeforeTheFirstUpdate) {
  const auto writer = make();
  EXPECT_EQ(read().body->class_count, 0u);
}

TEST_F(Page, EveryUpdateIsSeen) {
  const auto writer = make();
  for (int i = 1; i <= 5; ++i) {
    host.daemon_view.turns = static_cast<std::uint64_t>(i);
    host.advance(std::chrono::milliseconds{1});
    writer->update(host, host.errors);
    EXPECT_EQ(read().body->turns, static_cast<std::uint64_t>(i));
  }
}

TEST_F(Page, KeepsTheLatestErrorsWhenThereAreTooMany) {
  std::vector<std::string> lines;
  ErrorBook book([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  for (int i = 0; i < 100; ++i) {
    host.advance(std::chrono::seconds{1});
    book.report(LogLevel::error, "cause " + std::to_string(i), "text", "", host.now());
  }
  const auto writer = make();
  writer->update(host, book);
  const StatusPicture picture = read();
  EXPECT_EQ(picture.body->error_count, kStatusErrors);
  EXPECT_EQ(picture.body->errors_total, 100u);
  EXPECT_EQ(picture.body->errors[kStatusErrors - 1].cause.view(), "cause 99");
}

TEST_F(Page, ARestartPutsANewFileInPlaceAndReadersOfTheOldGoOn) {
  auto old = make();
  const std::uint64_t inode = read().inode;
  auto renewed = make();
  host.daemon_view.turns = 5;
  host.advance(std::chrono::milliseconds{1});
  renewed->update(host, host.errors);
  old->beat(host.now());  // harmless: its file has no name any more
  const StatusPicture picture = read();
  EXPECT_NE(picture.inode, inode);
  EXPECT_EQ(picture.body->turns, 5u);
}

TEST_F(Page, StaysReadableAfterTheDaemonsEnd) {
  auto writer = make();
  writer->update(host, host.errors);
  writer.reset();
  EXPECT_EQ(read().body->pid, 4242u);
}

TEST_F(Page, CannotBeMadeWithoutItsDirectory) {
  std::string why;
  EXPECT_EQ(StatusPageWriter::create(directory.file("none/status.shm"), {}, &why), nullptr);
  EXPECT_NE(why.find("No such file"), std::string::npos) << why;
}

TEST_F(Page, ALeftoverOfAnEarlierStartIsReplaced) {
  std::ofstream(path + ".new") << "leftover";
  EXPECT_NE(make(), nullptr);
  EXPECT_NE(read().body, nullptr);
}

TEST_F(Page, DamagedPagesAreRefused) {
  const auto writer = make();
  writer->update(host, host.errors);
  const std::uint64_t wrong = 0x1234;
  damage(offsetof(StatusPage, magic), &wrong, 8);
  EXPECT_NE(refusal().find("not a status page"), std::string::npos);
  damage(offsetof(StatusPage, magic), &kStatusPageMagic, 8);
  damage(offsetof(StatusPage, layout_hash), &wrong, 8);
  EXPECT_NE(refusal().find("not a status page"), std::string::npos);
  damage(offsetof(StatusPage, layout_hash), &kStatusPageHash, 8);
  EXPECT_NE(read().body, nullptr);
}

TEST_F(Page, ImpossibleCountsAreRefused) {
  const auto writer = make();
  writer->update(host, host.errors);
  const std::uint32_t huge = 0xffff'ffff;
  for (const std::size_t field :
       {offsetof(StatusPageBody, class_count), offsetof(StatusPageBody, lane_count),
        offsetof(StatusPageBody, error_count)}) {
    writer->update(host, host.errors);
    writer->update(host, host.errors);
    for (std::size_t copy = 0; copy < 2; ++copy) {
      damage(offsetof(StatusPage, copies) + copy * sizeof(StatusPageCopy) +
                 offsetof(StatusPageCopy, words) + field,
             &huge, sizeof(huge));
    }
    EXPECT_NE(refusal().find("damaged"), std::string::npos);
  }
}

TEST_F(Page, UnterminatedTextIsRefused) {
  const auto writer = make();
  writer->update(host, host.errors);
  const std::string text(16, 'x');
  for (std::size_t copy = 0; copy < 2; ++copy) {
    damage(offsetof(StatusPage, copies) + copy * sizeof(StatusPageCopy) +
               offsetof(StatusPageCopy, words) + offsetof(StatusPageBody, policy),
           text.data(), text.size());
  }
  EXPECT_NE(refusal().find("damaged"), std::string::npos);
}

TEST_F(Page, OtherFilesAreRefused) {
  EXPECT_NE(refusal().find("no status page"), std::string::npos);
  std::ofstream(path) << "short";
  EXPECT_NE(refusal().find("not a status page"), std::string::npos);
  ::unlink(path.c_str());
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  EXPECT_NE(refusal().find("not a status page"), std::string::npos);
}

// The daemon dies in the middle of a write: that copy stays odd for ever, the other one is whole.
TEST_F(Page, ADeathInsideAWriteLeavesTheOtherCopy) {
  const auto writer = make();
  host.daemon_view.turns = 1;
  writer->update(host, host.errors);
  host.advance(std::chrono::milliseconds{1});
  host.daemon_view.turns = 2;
  writer->update(host, host.errors);
  const std::uint64_t odd = 77;
  for (std::size_t copy = 0; copy < 2; ++copy) {
    damage(offsetof(StatusPage, copies) + copy * sizeof(StatusPageCopy), &odd, 8);
    if (copy == 0) {
      EXPECT_NE(read().body, nullptr);
    }
  }
  EXPECT_NE(refusal().find("damaged"), std::string::npos);
}

TEST_F(Page, LivenessIsJudgedByTheHeartbeatAlone) {
  const auto writer = make();
  const Time beat = host.now();
  writer->beat(beat);
  const StatusPicture picture = read();
  const Duration late = ctl::kSilentAfter + Duration{1};
  EXPECT_EQ(judge_liveness(picture, beat + ctl::kSilentAfter, true), Liveness::alive);
  EXPECT_EQ(judge_liveness(picture, beat + late, true), Liveness::silent);
  EXPECT_EQ(judge_liveness(picture, beat + late, false), Liveness::ended);
  EXPECT_EQ(judge_liveness(picture, beat - late, true), Liveness::other_clock);
}

TEST(ProcessExists, KnowsOursAndNoOther) {
  EXPECT_TRUE(ctl::process_exists(static_cast<std::uint32_t>(::getpid())));
  EXPECT_FALSE(ctl::process_exists(0));
  EXPECT_FALSE(ctl::process_exists(0xffff'ffff));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ctl::process_exists(static_cast<std::uint32_t>(child)));
}

// Every word of a body carries the same number: a mixture of two bodies would show. One copy in
// memory that both threads see, so that ThreadSanitizer judges the protocol too.
TEST(SequenceLock, AReaderUnderAWriterNeverSeesAMixture) {
  const auto copy = std::make_unique<StatusPageCopy>();
  constexpr std::uint64_t kRounds = 3000;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    const auto body = std::make_unique<StatusPageBody>();
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      auto* words = reinterpret_cast<unsigned char*>(body.get());
      for (std::size_t i = 0; i < kStatusWords; ++i) std::memcpy(words + 8 * i, &round, 8);
      store_status(copy.get(), *body);
    }
    done.store(true);
  });
  const auto body = std::make_unique<StatusPageBody>();
  std::uint64_t latest = 0;
  bool last_look = false;
  while (!last_look) {
    last_look = done.load();
    if (!load_status(*copy, body.get())) continue;
    const auto* words = reinterpret_cast<const unsigned char*>(body.get());
    std::uint64_t first = 0;
    std::memcpy(&first, words, 8);
    ASSERT_GE(first, latest);
    latest = first;
    for (std::size_t i = 0; i < kStatusWords; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, words + 8 * i, 8);
      ASSERT_EQ(word, first) << "word " << i;
    }
  }
  writer.join();
  EXPECT_EQ(latest, kRounds);
}

TEST(SequenceLock, AnUnwrittenCopyIsNotRead) {
  const auto copy = std::make_unique<StatusPageCopy>();
  StatusPageBody body;
  EXPECT_FALSE(load_status(*copy, &body));
}

}  // namespace
}  // namespace tentq
