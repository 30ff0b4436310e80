// A client and a daemon of different versions: they work together or say both versions, never
// silently neither.
#include <gtest/gtest.h>

#include "proto/version.h"
#include "tests/processes/clients.h"
#include "tests/processes/daemon_fixture.h"
#include "tests/processes/raw_session.h"

namespace tentq::test {
namespace {

class Versions : public DaemonFixture {
 protected:
  std::optional<Refused> refusal(const Hello& hello) {
    RawConnection connection(socket());
    connection.send(hello);
    return connection.receive<Refused>();
  }
};

TEST_F(Versions, AnotherMajorIsRefusedWithBothVersionsInTheText) {
  start();
  std::uint64_t refused = 0;
  for (const int step : {-1, 1, 41}) {
    Hello hello = proper_hello("other");
    hello.major = static_cast<std::uint16_t>(kProtocolMajor + step);
    hello.minor = 7;
    const auto answer = refusal(hello);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, StatusCode::incompatible);
    const std::string text(answer->text.view());
    const std::string theirs = std::to_string(hello.major) + ".7";
    const std::string ours = std::to_string(kProtocolMajor) + "." + std::to_string(kProtocolMinor);
    EXPECT_NE(text.find(theirs), std::string::npos) << text;
    EXPECT_NE(text.find(ours), std::string::npos) << text;
    EXPECT_EQ(ask(QueryKind::status).at("refused_attaches"), ++refused);
  }
}

TEST_F(Versions, AnotherMinorRuns) {
  start();
  for (const std::uint16_t minor : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{999}}) {
    Hello hello = proper_hello("minor" + std::to_string(minor));
    hello.minor = minor;
    const RawSession session(socket(), hello);
    EXPECT_EQ(session.welcome().major, kProtocolMajor);
    EXPECT_LE(session.welcome().minor, kProtocolMinor);
    EXPECT_EQ(session.welcome().version.view(), kProductVersion);
  }
}

TEST_F(Versions, AnotherLayoutOrMagicIsRefused) {
  start();
  Hello layout = proper_hello("layout");
  layout.layout_hash ^= 1;
  Hello magic = proper_hello("magic");
  magic.magic ^= 1;
  for (const Hello& hello : {layout, magic}) {
    const auto answer = refusal(hello);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, StatusCode::incompatible);
    EXPECT_FALSE(answer->text.view().empty());
  }
}

TEST_F(Versions, NamesThatAreNoneAreRefused) {
  start();
  for (const std::string name : {"../etc", "a/b", "a b", ".hidden", "-flag", "new\nline", "\xff"}) {
    const auto answer = refusal(proper_hello(name));
    ASSERT_TRUE(answer) << name;
    EXPECT_EQ(answer->status, StatusCode::invalid_argument) << name;
    EXPECT_EQ(Client::connect(connection(socket(), name)).status().code(), Code::invalid_argument);
  }
  EXPECT_EQ(Client::connect(connection(socket(), std::string(64, 'n'))).status().code(),
            Code::invalid_argument);
  EXPECT_TRUE(Client::connect(connection(socket(), std::string(63, 'n'))).ok());
  EXPECT_EQ(ask(QueryKind::status).at("sessions"), 0);
}

// A client that is refused again and again fills no log.
TEST_F(Versions, RepeatedRefusalsAreOneLineWithACount) {
  start();
  for (int i = 0; i < 300; ++i) {
    Hello hello = proper_hello("other");
    hello.major = 99;
    ASSERT_TRUE(refusal(hello));
  }
  const std::string log = daemon().log();
  std::size_t lines = 0;
  for (std::size_t at = log.find(" 99."); at != std::string::npos; at = log.find(" 99.", at + 1)) {
    ++lines;
  }
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 5u) << log;
  const nlohmann::json errors = ask(QueryKind::errors).at("errors");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].at("count"), 300);
  EXPECT_FALSE(errors[0].at("remedy").get<std::string>().empty());
}

}  // namespace
}  // namespace tentq::test
