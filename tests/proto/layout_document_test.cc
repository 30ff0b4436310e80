// proto/README.md and proto/peer.md are the byte format's specification: every row of their tables
// must be what the code does, every struct must be there, and every byte of it accounted for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/proto/peer_struct_tables.h"
#include "tests/proto/struct_tables.h"

namespace tentq {
namespace {

struct Document {
  const char* name;
  const char* path;
  std::vector<StructTable> (*structs)();
};
const Document kReadme{"README", TENTQ_PROTO_README, all_structs};
const Document kPeers{"peer", TENTQ_PROTO_PEERS, peer_structs};

std::string text_of(const Document& document) {
  std::ifstream file(document.path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The cells of a table's line, without the spaces around them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  std::string cell;
  std::getline(stream, cell, '|');  // before the first bar
  while (std::getline(stream, cell, '|')) {
    const std::size_t begin = cell.find_first_not_of(' ');
    const std::size_t end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Tables under `### Name, N bytes`, in the order of the file; gaps are rows named "–".
std::vector<StructTable> documented(const Document& document) {
  std::vector<StructTable> tables;
  std::stringstream text(text_of(document));
  for (std::string line; std::getline(text, line);) {
    char name[64];
    std::size_t size = 0;
    if (std::sscanf(line.c_str(), "### %63[A-Za-z], %zu bytes", name, &size) == 2) {
      tables.push_back({name, size, {}});
    } else if (line.starts_with("#")) {
      tables.push_back({});  // rows under other headings belong to no struct
    } else if (line.starts_with("|") && !tables.empty()) {
      const std::vector<std::string> cells = cells_of(line);
      if (cells.size() < 4 || !is_number(cells[0]) || !is_number(cells[1])) continue;
      tables.back().fields.push_back({cells[2], std::stoul(cells[0]), std::stoul(cells[1])});
    }
  }
  std::erase_if(tables, [](const StructTable& table) { return table.name.empty(); });
  return tables;
}

class LayoutDocument : public testing::TestWithParam<Document> {
 protected:
  std::vector<StructTable> documented() const { return tentq::documented(GetParam()); }
  std::vector<StructTable> structs() const { return GetParam().structs(); }
};
INSTANTIATE_TEST_SUITE_P(Documents, LayoutDocument, testing::Values(kReadme, kPeers),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(LayoutDocument, EveryStructIsDescribedExactlyOnce) {
  std::map<std::string, int> times;
  for (const StructTable& table : documented()) ++times[table.name];
  for (const StructTable& table : structs()) EXPECT_EQ(times[table.name], 1) << table.name;
  EXPECT_EQ(times.size(), structs().size());
}

TEST_P(LayoutDocument, EveryRowIsWhatTheCodeDoes) {
  std::map<std::string, StructTable> described;
  for (const StructTable& table : documented()) described[table.name] = table;
  for (const StructTable& actual : structs()) {
    StructTable& table = described[actual.name];
    EXPECT_EQ(table.size, actual.size) << actual.name;
    std::erase_if(table.fields, [](const FieldRow& row) { return row.name == "–"; });
    ASSERT_EQ(table.fields.size(), actual.fields.size()) << actual.name;
    for (std::size_t i = 0; i < actual.fields.size(); ++i) {
      const std::string where = actual.name + "." + actual.fields[i].name;
      EXPECT_EQ(table.fields[i].name, actual.fields[i].name) << where;
      EXPECT_EQ(table.fields[i].offset, actual.fields[i].offset) << where;
      EXPECT_EQ(table.fields[i].size, actual.fields[i].size) << where;
    }
  }
}

TEST_P(LayoutDocument, RowsLeaveNoByteUnaccounted) {
  for (const StructTable& table : documented()) {
    std::size_t next = 0;
    for (const FieldRow& row : table.fields) {
      EXPECT_EQ(row.offset, next) << table.name << "." << row.name;
      next = row.offset + row.size;
    }
    EXPECT_EQ(next, table.size) << table.name;
  }
}

// Messages have no hidden bytes at all: what is compared or sent is what is named.
TEST_P(LayoutDocument, MessagesHaveNoPadding) {
  for (const StructTable& table : documented()) {
    if (table.fields.empty() || table.fields.front().name != "header") continue;
    for (const FieldRow& row : table.fields) EXPECT_NE(row.name, "–") << table.name;
  }
}

TEST_P(LayoutDocument, FieldsLieAtMultiplesOfTheirSize) {
  for (const StructTable& table : structs()) {
    for (const FieldRow& row : table.fields) {
      if (row.size == 1 || row.size == 2 || row.size == 4 || row.size == 8) {
        EXPECT_EQ(row.offset % row.size, 0u) << table.name << "." << row.name;
      }
    }
  }
}

template <class Message>
void expect_listed(const std::string& text, const char* name) {
  char row[96];
  std::snprintf(row, sizeof row, "| %u | %s |", static_cast<unsigned>(Message::kType), name);
  EXPECT_NE(text.find(row), std::string::npos) << row;
  const Message message = make_message<Message>(5);
  EXPECT_EQ(message.header.type, Message::kType);
  EXPECT_EQ(message.header.bytes, sizeof(Message));
  EXPECT_EQ(message.header.request, 5u);
  EXPECT_LE(sizeof(Message), kLargestMessage) << name;
}

TEST(LayoutOfMessages, EveryOneIsListedWithItsNumber) {
  const std::string text = text_of(kReadme);
#define TENTQ_LISTED(message) expect_listed<message>(text, #message)
  TENTQ_LISTED(Hello);
  TENTQ_LISTED(Welcome);
  TENTQ_LISTED(Refused);
  TENTQ_LISTED(Mapped);
  TENTQ_LISTED(RegisterRegion);
  TENTQ_LISTED(RegionProgress);
  TENTQ_LISTED(RegionReply);
  TENTQ_LISTED(UnregisterRegion);
  TENTQ_LISTED(Done);
  TENTQ_LISTED(OpenSegment);
  TENTQ_LISTED(SegmentReply);
  TENTQ_LISTED(CloseSegment);
  TENTQ_LISTED(SegmentRegions);
  TENTQ_LISTED(SegmentRegionsReply);
  TENTQ_LISTED(Notification);
  TENTQ_LISTED(DaemonNotice);
  TENTQ_LISTED(Query);
  TENTQ_LISTED(QueryReply);
  TENTQ_LISTED(Command);
  TENTQ_LISTED(CommandReply);
  TENTQ_LISTED(Goodbye);
#undef TENTQ_LISTED
}

template <class Message>
void expect_peers_list(const std::string& text, const char* name) {
  char row[96];
  std::snprintf(row, sizeof row, "| %u | %s |", static_cast<unsigned>(Message::kType), name);
  EXPECT_NE(text.find(row), std::string::npos) << row;
  const std::uint32_t bytes =
      std::max(peer_message_bytes(Message::kType), peer_head_bytes(Message::kType));
  EXPECT_EQ(bytes, sizeof(Message)) << name;
}

TEST(LayoutOfMessages, EveryOneOfPeersIsListedWithItsNumber) {
  const std::string text = text_of(kPeers);
#define TENTQ_LISTED(message) expect_peers_list<message>(text, #message)
  TENTQ_LISTED(PeerHello);
  TENTQ_LISTED(PeerProof);
  TENTQ_LISTED(PeerReady);
  TENTQ_LISTED(PeerRefused);
  TENTQ_LISTED(PeerPing);
  TENTQ_LISTED(PeerPong);
  TENTQ_LISTED(PeerOpenSegment);
  TENTQ_LISTED(PeerSegment);
  TENTQ_LISTED(PeerCloseSegment);
  TENTQ_LISTED(PeerListRegions);
  TENTQ_LISTED(PeerRegions);
  TENTQ_LISTED(PeerNotify);
  TENTQ_LISTED(PeerNotified);
  TENTQ_LISTED(PeerFence);
  TENTQ_LISTED(PeerFenced);
  TENTQ_LISTED(PeerDemand);
  TENTQ_LISTED(PeerGrant);
  TENTQ_LISTED(PeerWrite);
  TENTQ_LISTED(PeerDone);
  TENTQ_LISTED(PeerRead);
  TENTQ_LISTED(PeerData);
#undef TENTQ_LISTED
  char digits[32];
  std::snprintf(digits, sizeof digits, "0x%016" PRIx64, kPeerMagic);
  EXPECT_NE(text.find(digits), std::string::npos) << digits;
}

TEST(LayoutOfMessages, HashAndMagicNumbersAreTodays) {
  const std::string text = text_of(kReadme);
  for (const std::uint64_t number : {kLayoutHash, kStaMagic, kHelloMagic}) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "0x%016" PRIx64, number);
    EXPECT_NE(text.find(digits), std::string::npos) << digits;
  }
}

}  // namespace
}  // namespace tentq
