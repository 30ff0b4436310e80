// The key's file and the host id's: what is accepted, and what the errors tell to do.
#include "daemon/peers/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "daemon/peers/identity.h"
#include "daemon/peers/terms.h"
#include "tests/support/temp_directory.h"

namespace tentq {
namespace {

class KeyFile : public testing::Test {
 protected:
  void write(const std::string& text, mode_t mode = 0600) {
    ::unlink(path_.c_str());
    std::ofstream(path_, std::ios::binary) << text;
    ::chmod(path_.c_str(), mode);
  }
  bool read() { return read_key_file(path_, &key_, &why_); }
  std::string text() const { return {key_.bytes().begin(), key_.bytes().end()}; }
  bool says(const std::string& part) const { return why_.find(part) != std::string::npos; }

  test::TempDirectory directory_{"tentq-key"};
  std::string path_ = directory_.file("key");
  PeerKey key_;
  std::string why_;
};

TEST_F(KeyFile, IsReadWithoutOneNewline) {
  const std::string secret(32, 's');
  write(secret);
  ASSERT_TRUE(read()) << why_;
  EXPECT_EQ(text(), secret);
  write(secret + "\n");
  ASSERT_TRUE(read()) << why_;
  EXPECT_EQ(text(), secret);
  write(secret + "\n\n");
  ASSERT_TRUE(read()) << why_;
  EXPECT_EQ(text(), secret + "\n");
  write(std::string(32, '\0'), 0400);
  ASSERT_TRUE(read()) << why_;
  EXPECT_EQ(text(), std::string(32, '\0'));
}

TEST_F(KeyFile, HasABoundedSize) {
  for (const std::size_t size : {kLeastKeyBytes, kMostKeyBytes}) {
    write(std::string(size, 'k') + "\n");
    EXPECT_TRUE(read()) << why_;
    EXPECT_EQ(text().size(), size);
  }
  for (const std::size_t size : {std::size_t{0}, kLeastKeyBytes - 1}) {
    write(std::string(size, 'k') + "\n");
    EXPECT_FALSE(read()) << size;
    EXPECT_TRUE(says("too short") && says("/dev/urandom")) << why_;
  }
  for (const std::size_t size : {kMostKeyBytes + 1, 3 * kMostKeyBytes}) {
    write(std::string(size, 'k'));
    EXPECT_FALSE(read()) << size;
    EXPECT_TRUE(says("too long")) << why_;
  }
}

TEST_F(KeyFile, IsItsOwnersAlone) {
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u, 0601u, 0644u, 0777u}) {
    write(std::string(32, 'k'), mode);
    EXPECT_FALSE(read()) << mode;
    EXPECT_TRUE(says("chmod 600 " + path_)) << why_;
  }
}

TEST_F(KeyFile, BelongsToTheDaemonsUserOrRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write(std::string(32, 'k'));
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(read());
  EXPECT_TRUE(says("12345") && says("chown")) << why_;
}

TEST_F(KeyFile, IsAFileThatExists) {
  EXPECT_FALSE(read());
  EXPECT_TRUE(says("No such file")) << why_;
  path_ = directory_.path();
  EXPECT_FALSE(read());
  EXPECT_TRUE(says("not a file")) << why_;
  path_ = directory_.file("pipe");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(read());  // and does not wait for a writer
  EXPECT_TRUE(says("not a file")) << why_;
}

TEST(HostIdFile, IsMadeOnceAndKept) {
  const test::TempDirectory state("tentq-state");
  std::string why;
  HostId first{}, second{}, other{};
  ASSERT_TRUE(load_host_id(state.path(), 1, &first, &why)) << why;
  EXPECT_NE(first, HostId{});
  ASSERT_TRUE(load_host_id(state.path(), 2, &second, &why)) << why;
  EXPECT_EQ(first, second);
  EXPECT_NE(::access(state.file("host_id.new").c_str(), F_OK), 0);
  const test::TempDirectory elsewhere("tentq-state");
  ASSERT_TRUE(load_host_id(elsewhere.path(), 5, &other, &why)) << why;
  EXPECT_NE(first, other);
}

// Else everybody would take the host for an older life of itself.
TEST(HostIdFile, IsMadeAnewWhenTheStartCounterBeginsAgain) {
  const test::TempDirectory state("tentq-state");
  std::string why;
  HostId first{}, second{};
  ASSERT_TRUE(load_host_id(state.path(), 7, &first, &why));
  ASSERT_TRUE(load_host_id(state.path(), 1, &second, &why));
  EXPECT_NE(first, second);
}

TEST(HostIdFile, IsRefusedWhenItIsDamaged) {
  const test::TempDirectory state("tentq-state");
  std::string why;
  HostId host{};
  for (const std::string& bad :
       {std::string(), std::string(32, '0') + "\n", std::string(31, 'a') + "\n",
        std::string(32, 'a'), std::string(32, 'A') + "\n", std::string(33, 'a') + "\n"}) {
    std::ofstream(state.file("host_id"), std::ios::trunc) << bad;
    EXPECT_FALSE(load_host_id(state.path(), 2, &host, &why)) << bad;
    EXPECT_NE(why.find("remove it"), std::string::npos) << why;
  }
  std::ofstream(state.file("host_id"), std::ios::trunc) << "00112233445566778899aabbccddeeff\n";
  ASSERT_TRUE(load_host_id(state.path(), 2, &host, &why)) << why;
  EXPECT_EQ(host_text(host), "00112233445566778899aabbccddeeff");
}

TEST(HostIdFile, NeedsADirectoryThatCanBeWritten) {
  std::string why;
  HostId host{};
  EXPECT_FALSE(load_host_id("/proc/tentq", 1, &host, &why));
  EXPECT_NE(why.find("state_directory"), std::string::npos) << why;
}

TEST_F(KeyFile, IsPartOfTheTermsUnlessNoneIsAskedFor) {
  PeerSettings settings;
  PeerTerms terms;
  ASSERT_TRUE(load_terms(settings, directory_.path(), 3, 4, &terms, &why_)) << why_;
  EXPECT_TRUE(terms.key.empty());
  EXPECT_NE(terms.self.host, HostId{});
  EXPECT_EQ(terms.self.epoch_counter, 3u);
  EXPECT_EQ(terms.self.epoch_random, 4u);
  settings.key_file = path_;
  EXPECT_FALSE(load_terms(settings, directory_.path(), 3, 4, &terms, &why_));
  write(std::string(32, 'k'));
  ASSERT_TRUE(load_terms(settings, directory_.path(), 3, 4, &terms, &why_)) << why_;
  EXPECT_EQ(terms.key.bytes().size(), 32u);
  PeerTerms open;
  settings.auth = PeerAuth::none;
  ASSERT_TRUE(load_terms(settings, directory_.path(), 3, 4, &open, &why_)) << why_;
  EXPECT_TRUE(open.key.empty());
  EXPECT_EQ(open.self.host, terms.self.host);
}

TEST(PeerWarning, ComesOnlyWhenAnybodyIsLetIn) {
  PeerSettings settings;
  EXPECT_EQ(warning_of(settings), "");
  settings.listen = "127.0.0.1:7471";
  EXPECT_EQ(warning_of(settings), "");
  settings.auth = PeerAuth::none;
  EXPECT_NE(warning_of(settings).find("127.0.0.1:7471"), std::string::npos);
}

}  // namespace
}  // namespace tentq
