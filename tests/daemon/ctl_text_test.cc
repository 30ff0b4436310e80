// What tentqctl prints: units, cutting, tables of at most 100 columns, frames of `top`.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <sstream>

#include "client/ctl/output.h"
#include "client/ctl/table.h"
#include "client/ctl/top.h"

namespace tentq::ctl {
namespace {

using Kind = Column::Kind;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(CtlUnits, AreShortAndNeverRoundUp) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1K");
  EXPECT_EQ(count_text(1999), "1.9K");
  EXPECT_EQ(count_text(999'999), "999K");
  EXPECT_EQ(bytes_text(0), "0B");
  EXPECT_EQ(bytes_text(1023), "1023B");
  EXPECT_EQ(bytes_text(1536), "1.5KiB");
  EXPECT_EQ(bytes_text(64u << 20), "64MiB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "16383PiB");
  EXPECT_EQ(age_text(0), "-");
  EXPECT_EQ(age_text(20'000), "20us");
  EXPECT_EQ(age_text(1'500'000), "1.5ms");
  EXPECT_EQ(age_text(90'000'000'000), "1.5min");
}

TEST(CtlText, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a?[31mb??");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");  // CSI as one character
}

TEST(CtlText, CutsAtCharactersNotAtBytes) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
  EXPECT_EQ(cut("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3), "\xc3\xa9\xc3\xa9…");
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(CtlText, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("", 8, 2), "");
}

TEST(CtlTable, AlignsTextLeftAndNumbersRight) {
  Table table({{"name", Kind::text}, {"depth"}});
  table.row({{"a"}, {"5"}});
  table.row({{"longer"}, {"12345678"}});
  EXPECT_EQ(table.text(false),
            "name       depth\n"
            "a              5\n"
            "longer  12345678\n");
}

TEST(CtlTable, LeavesNoSpacesAtTheEndOfALine) {
  Table table({{"a", Kind::text}, {"name", Kind::text}});
  table.row({{"x"}, {"y"}});
  for (const std::string& line : lines_of(table.text(false))) EXPECT_NE(line.back(), ' ');
}

TEST(CtlTable, TextGivesWayNumbersDoNot) {
  Table table({{"name", Kind::text}, {"owner"}});
  table.row({{std::string(200, 'n')}, {"18446744073709551615"}});
  const auto lines = lines_of(table.text(false));
  EXPECT_EQ(width_of(lines[1]), kMostColumns);
  EXPECT_NE(lines[1].find("18446744073709551615"), std::string::npos);
  EXPECT_NE(lines[1].find("…"), std::string::npos);
}

TEST(CtlTable, ColoursOnlyOnATerminal) {
  Table table({{"state", Kind::text}});
  table.row({{"quarantined", Tint::bad}});
  EXPECT_EQ(table.text(false).find('\x1b'), std::string::npos);
  EXPECT_NE(table.text(true).find("\x1b[31mquarantined\x1b[0m"), std::string::npos);
}

RC_GTEST_PROP(CtlTableProperty, NeverWiderThanAHundredColumns, ()) {
  const auto columns = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<Column> heads;
  for (std::size_t c = 0; c < columns; ++c) {
    heads.push_back({"title", c == 0 || *rc::gen::arbitrary<bool>() ? Kind::text : Kind::number});
  }
  Table table(heads);
  const auto rows = *rc::gen::inRange(0, 5);
  for (int r = 0; r < rows; ++r) {
    std::vector<Cell> cells;
    for (const Column& head : heads) {
      const auto size = *rc::gen::inRange<std::size_t>(0, head.kind == Kind::text ? 150 : 9);
      cells.emplace_back(std::string(size, 'x'));
    }
    table.row(std::move(cells));
  }
  for (const std::string& line : lines_of(table.text(false))) {
    RC_ASSERT(width_of(line) <= kMostColumns);
  }
}

StatusPicture picture_of(std::int64_t seconds) {
  StatusPicture picture;
  picture.body = std::make_unique<StatusPageBody>();
  std::memset(static_cast<void*>(picture.body.get()), 0, sizeof(StatusPageBody));
  StatusPageBody& body = *picture.body;
  body.version.assign("0.1.0");
  body.pid = 42;
  body.state = static_cast<std::uint32_t>(DaemonState::running);
  body.policy.assign("wdrr");
  body.class_count = kClassCount;
  body.classes[1].depth = 17;
  body.lane_count = 1;
  body.lanes_total = 1;
  body.lanes[0].name.assign("shm read");
  body.error_count = 1;
  body.errors_total = 1;
  body.errors[0].cause.assign("shm.fault");
  body.errors[0].text.assign(std::string(150, 'e'));
  body.errors[0].level = 3;
  body.updated_ns = seconds * 1'000'000'000;
  body.transferred_bytes = static_cast<std::uint64_t>(seconds) << 20;
  picture.heartbeat = time_from_ns(body.updated_ns);
  picture.inode = 1;
  return picture;
}

TEST(CtlTop, ShowsClassesLanesAndErrorsWithinAHundredColumns) {
  const StatusPicture picture = picture_of(100);
  const std::string frame =
      draw_top(picture, nullptr, picture.heartbeat + std::chrono::milliseconds{5}, true, false);
  for (const char* part : {"foreground", "17", "shm read", "shm.fault", "running", "pid 42"}) {
    EXPECT_NE(frame.find(part), std::string::npos) << part << '\n' << frame;
  }
  for (const std::string& line : lines_of(frame)) EXPECT_LE(width_of(line), kMostColumns) << line;
  EXPECT_EQ(frame.find('\x1b'), std::string::npos);
  EXPECT_EQ(frame.find("heartbeat"), std::string::npos);
}

TEST(CtlTop, SaysHowOldThePictureOfAHungOrDeadDaemonIs) {
  const StatusPicture picture = picture_of(100);
  const Time now = picture.heartbeat + std::chrono::seconds{12};
  EXPECT_NE(draw_top(picture, nullptr, now, true, false).find("no heartbeat for 12s"),
            std::string::npos);
  EXPECT_NE(draw_top(picture, nullptr, now, false, false).find("has ended"), std::string::npos);
}

TEST(CtlTop, RatesComeFromTwoPicturesOfOneDaemon) {
  const StatusPicture before = picture_of(100);
  StatusPicture after = picture_of(104);
  EXPECT_NE(draw_top(after, &before, after.heartbeat, true, false).find("now 1MiB/s"),
            std::string::npos);
  after.inode = 2;  // another daemon's page
  EXPECT_EQ(draw_top(after, &before, after.heartbeat, true, false).find("MiB/s"),
            std::string::npos);
}

}  // namespace
}  // namespace tentq::ctl
