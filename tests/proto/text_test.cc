// Text fields of messages and the rule for names.
#include "proto/text.h"

#include <gtest/gtest.h>

#include <string>

namespace tentq {
namespace {

TEST(Text, KeepsWhatFitsAndStaysTerminated) {
  Text<8> text;
  text.assign("short");
  EXPECT_EQ(text.view(), "short");
  text.assign("1234567");
  EXPECT_EQ(text.view(), "1234567");
  text.assign("12345678");
  EXPECT_EQ(text.view(), "1234567");
  EXPECT_TRUE(text.terminated());
  text.assign("");
  EXPECT_EQ(text.view(), "");
}

TEST(Text, AssignLeavesNothingOfAnOlderText) {
  Text<8> text;
  text.assign("secrets");
  text.assign("x");
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(text.bytes[i], '\0');
}

TEST(Text, ForeignBytesWithoutAnEndAreNotReadPastTheField) {
  Text<4> text;
  text.bytes.fill('a');
  EXPECT_EQ(text.view(), "aaaa");
  EXPECT_FALSE(text.terminated());
}

TEST(Names, LettersDigitsDotsDashesUpTo63) {
  EXPECT_TRUE(is_valid_name("store-0"));
  EXPECT_TRUE(is_valid_name("A.b_C-9"));
  EXPECT_TRUE(is_valid_name(std::string(63, 'n')));
  EXPECT_FALSE(is_valid_name(std::string(64, 'n')));
  EXPECT_FALSE(is_valid_name(""));
  EXPECT_FALSE(is_valid_name(".hidden"));
  EXPECT_FALSE(is_valid_name("-option"));
  EXPECT_FALSE(is_valid_name("a/b"));
  EXPECT_FALSE(is_valid_name("a b"));
  EXPECT_FALSE(is_valid_name("a\n"));
  EXPECT_FALSE(is_valid_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace tentq
