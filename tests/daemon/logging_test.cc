// The book of errors, and a log that neither blocks nor kills.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "daemon/logging/descriptor_sink.h"
#include "daemon/logging/error_book.h"
#include "daemon/logging/log.h"
#include "tests/support/temp_directory.h"

namespace tentq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Book : public ::testing::Test {
 protected:
  void report(std::string_view cause, std::string_view text = "text") {
    book.report(LogLevel::error, cause, text, "do this", now);
  }
  std::vector<std::string> lines;
  ErrorBook book{[this](LogLevel, std::string_view line) { lines.emplace_back(line); }, 4};
  Time now = time_from_ns(1'000'000'000);
};

TEST_F(Book, LogsTheFirstOccurrenceAlways) {
  report("a");
  report("b");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "a: text; do this");
}

TEST_F(Book, CollapsesRepeatsToOneLineEveryTenSeconds) {
  for (int i = 0; i < 1000; ++i) {
    report("a");
    now += milliseconds{25};
  }
  ASSERT_EQ(lines.size(), 3u);  // at 0, 10 and 20 s
  EXPECT_EQ(lines[1], "a: text (399 more since the last line); do this");
  const auto errors = book.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].count, 1000u);
  EXPECT_EQ(errors[0].last - errors[0].first, milliseconds{25 * 999});
}

TEST_F(Book, ARepeatAfterSilenceIsLoggedAtOnce) {
  report("a");
  now += seconds{10};
  report("a");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "a: text; do this");
}

TEST_F(Book, TellsWhatWasLeftOutWhenTheBurstIsOver) {
  report("a");
  EXPECT_FALSE(book.next_deadline());
  report("a");
  report("a");
  ASSERT_TRUE(book.next_deadline());
  EXPECT_EQ(*book.next_deadline(), now + seconds{10});
  book.tick(now + milliseconds{9999});
  EXPECT_EQ(lines.size(), 1u);
  book.tick(now + seconds{10});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "a: text (2 more since the last line); do this");
  EXPECT_FALSE(book.next_deadline());
}

TEST_F(Book, CausesDoNotSilenceEachOther) {
  for (int i = 0; i < 10; ++i) {
    report("a");
    report("b");
  }
  EXPECT_EQ(lines.size(), 2u);
}

TEST_F(Book, IsBoundedAndBooksTheRestUnderOther) {
  for (int i = 0; i < 1000; ++i) report("cause " + std::to_string(i));
  EXPECT_EQ(book.size(), 4u);
  EXPECT_EQ(book.total(), 1000u);
  EXPECT_LE(lines.size(), 4u);  // a flood of new causes does not flood the log either
  const auto errors = book.errors();
  const auto other = std::find_if(errors.begin(), errors.end(),
                                  [](const BookedError& error) { return error.cause == "other"; });
  ASSERT_NE(other, errors.end());
  EXPECT_EQ(other->count, 997u);
}

TEST_F(Book, ALongSilentCauseMakesRoomForANewOne) {
  for (const char* cause : {"a", "b", "c", "d"}) report(cause);
  now += hours{2};
  report("new");
  const auto errors = book.errors();
  EXPECT_EQ(book.size(), 4u);
  EXPECT_EQ(errors.back().cause, "new");
  EXPECT_EQ(errors.back().count, 1u);
}

TEST_F(Book, ListsTheLatestLast) {
  report("a");
  now += seconds{1};
  report("b");
  now += seconds{1};
  report("a");
  EXPECT_EQ(book.errors().back().cause, "a");
}

TEST_F(Book, ForgedLinesFromClientsStayOneLine) {
  report("client", "name \"x\nerror: all is lost\x1b[31m\r\"");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find('\n'), std::string::npos);
  EXPECT_EQ(lines[0].find('\x1b'), std::string::npos);
  EXPECT_NE(lines[0].find("\\n"), std::string::npos);
}

TEST(Escaped, KeepsPrintableTextAndNothingElse) {
  EXPECT_EQ(escaped("engine-0 (uid 1000)"), "engine-0 (uid 1000)");
  EXPECT_EQ(escaped("a\\b\tc\nd"), "a\\\\b\\tc\\nd");
  EXPECT_EQ(escaped(std::string_view("\0\x7f\xc3\xa9", 4)), "\\x00\\x7f\\xc3\\xa9");
  EXPECT_EQ(escaped(std::string(300, 'x')), std::string(256, 'x') + "...");
  EXPECT_EQ(escaped("abcdef", 3), "abc...");
}

spdlog::details::log_msg message(std::string_view text) {
  return {"test", spdlog::level::info, spdlog::string_view_t(text.data(), text.size())};
}

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    for (const int fd : ends) {
      if (fd >= 0) ::close(fd);
    }
  }
  std::string drain() const {
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string out;
    char block[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::read(ends[0], block, sizeof(block));
      if (got > 0) out.append(block, static_cast<std::size_t>(got));
    }
    return out;
  }
};

TEST(LogSink, GivesLinesUpInsteadOfWaitingForAFullPipe) {
  const Pipe pipe;
  DescriptorSink sink(pipe.ends[1], false);
  sink.set_pattern("%v");
  int written = 0;
  while (sink.lost_lines() == 0 && written++ < 100'000) sink.log(message(std::string(1000, 'x')));
  ASSERT_EQ(sink.lost_lines(), 1u);  // and we are still here
  sink.log(message("also lost"));
  pipe.drain();
  sink.log(message("after"));
  EXPECT_EQ(pipe.drain(), "<2 lines lost> after\n");
  sink.log(message("later"));
  EXPECT_EQ(pipe.drain(), "later\n");
}

TEST(LogSink, SurvivesAReaderThatIsGone) {
  std::signal(SIGPIPE, SIG_IGN);  // as open_log does
  Pipe pipe;
  DescriptorSink sink(pipe.ends[1], false);
  ::close(std::exchange(pipe.ends[0], -1));
  sink.log(message("nobody reads this"));
  EXPECT_EQ(sink.lost_lines(), 1u);
}

TEST(LogSink, SurvivesAClosedDescriptorAndAFullDisk) {
  DescriptorSink closed(-1, false);
  closed.log(message("x"));
  EXPECT_EQ(closed.lost_lines(), 1u);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  DescriptorSink sink(full, true);
  sink.log(message("x"));
  EXPECT_EQ(sink.lost_lines(), 1u);
}

TEST(LogSink, DoesNotBlockOnASocketThatNobodyReads) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  DescriptorSink sink(ends[1], true);
  for (int i = 0; i < 100'000 && sink.lost_lines() == 0; ++i) {
    sink.log(message(std::string(1000, 'x')));
  }
  EXPECT_GT(sink.lost_lines(), 0u);
  ::close(ends[0]);
}

TEST(LogSink, CutsLinesThatAPipeWouldNotTakeInOnePiece) {
  const Pipe pipe;
  DescriptorSink sink(pipe.ends[1], false);
  sink.set_pattern("%v");
  sink.log(message(std::string(100'000, 'x')));
  const std::string out = pipe.drain();
  EXPECT_EQ(out.size(), 4096u);
  EXPECT_EQ(out.back(), '\n');
}

std::string content(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// The log is one for the process, so its file form is tested in one go.
TEST(LogFile, WritesFiltersAndReopens) {
  const test::TempDirectory directory("tentq-log");
  std::string why;
  EXPECT_FALSE(open_log({LogLevel::info, directory.file("no/such/log")}, &why));
  EXPECT_NE(why.find("No such file"), std::string::npos) << why;
  ASSERT_TRUE(open_log({LogLevel::warning, directory.file("log")}, &why)) << why;
  log(LogLevel::info, "not {}", "this");
  log(LogLevel::warning, "but {}", "that");
  set_log_level(LogLevel::debug);
  log_text(LogLevel::debug, "braces {} are text here");
  const std::string first = content(directory.file("log"));
  EXPECT_EQ(first.find("not this"), std::string::npos);
  EXPECT_NE(first.find("warning: but that\n"), std::string::npos);
  EXPECT_NE(first.find("debug: braces {} are text here\n"), std::string::npos);
  ASSERT_EQ(::rename(directory.file("log").c_str(), directory.file("log.1").c_str()), 0);
  log_text(LogLevel::error, "to the old file");
  reopen_log();
  log_text(LogLevel::error, "to the new file");
  EXPECT_NE(content(directory.file("log.1")).find("to the old file"), std::string::npos);
  EXPECT_NE(content(directory.file("log")).find("to the new file"), std::string::npos);
  EXPECT_EQ(lost_log_lines(), 0u);
}

}  // namespace
}  // namespace tentq
