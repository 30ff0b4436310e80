// Names of classes and intents, as programs and configurations of others give them.
#include <gtest/gtest.h>

#include <cstring>

#include "tentq/tentq.h"
#include "tentq/tentq.hpp"

namespace tentq {
namespace {

TEST(ClassNames, AreThoseOfClassesAndOfIntents) {
  const std::pair<const char*, Class> known[] = {
      {"foreground", Class::foreground},
      {"default", Class::standard},
      {"prefetch", Class::prefetch},
      {"background", Class::background},
      {"foreground_get", Class::foreground},
      {"background_prefetch", Class::prefetch},
      {"weight_loading", Class::standard},
      {"unspecified", Class::standard},
      {"migration", Class::background},
      {"checkpoint", Class::background},
      {"BACKGROUND_PREFETCH", Class::prefetch},
      {"Foreground-Get", Class::foreground},
      {"background_offload", Class::background},
  };
  for (const auto& [name, cls] : known) {
    const Result<Class> found = class_by_name(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(*found, cls) << name;
    tentq_class in_c = TENTQ_FOREGROUND;
    EXPECT_EQ(tentq_class_by_name(name, &in_c), TENTQ_OK);
    EXPECT_EQ(static_cast<int>(in_c), static_cast<int>(cls)) << name;
  }
}

TEST(ClassNames, UnknownOnesAreRefusedWithThoseThatThereAre) {
  for (const char* name : {"", "urgent", "internal", "foreground get", "prefetch "}) {
    const Status refused = class_by_name(name).status();
    EXPECT_EQ(refused.code(), Code::invalid_argument) << name;
    EXPECT_FALSE(refused.may_retry());
    for (const char* word : {"foreground", "background_prefetch", "checkpoint"}) {
      EXPECT_NE(refused.text().find(word), std::string::npos) << refused.text();
    }
    tentq_class cls = TENTQ_PREFETCH;
    EXPECT_EQ(tentq_class_by_name(name, &cls), TENTQ_INVALID_ARGUMENT);
    EXPECT_EQ(cls, TENTQ_PREFETCH);
    EXPECT_NE(std::strstr(tentq_last_error(), "weight_loading"), nullptr) << tentq_last_error();
  }
  EXPECT_EQ(tentq_class_by_name(nullptr, nullptr), TENTQ_INVALID_ARGUMENT);
  EXPECT_FALSE(class_by_name(std::string(5'000, 'x')).ok());
}

}  // namespace
}  // namespace tentq
