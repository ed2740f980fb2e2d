#include "compression/programs_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;

/// What rank `rank` logs, where the settings ask for `asked`.
std::string Said(const std::string& asked, const CompressionOptions& choice, int rank = 0) {
  Settings settings;
  if (!asked.empty()) settings.compression = CompressionFromText(asked);
  testing::internal::CaptureStderr();
  CheckProgramsChoice(choice, settings, rank);
  return testing::internal::GetCapturedStderr();
}

TEST(ProgramsChoice, OverridesTheSettingsAloud) {
  const CompressionOptions half = {{"compressor", "fp16"}};
  EXPECT_THAT(Said("compressor=dgc,density=0.01", half),
              testing::AllOf(HasSubstr("which is compressor=dgc,density=0.01, has no effect"),
                             HasSubstr("compressor=fp16")));
  EXPECT_THAT(Said("dgc", {}), HasSubstr("one of its own"));
  EXPECT_EQ(Said("dgc", half, 1), "");
}

TEST(ProgramsChoice, ThatTheSettingsShareOrLeaveFreeIsNoNews) {
  EXPECT_EQ(Said("", {{"compressor", "fp16"}}), "");
  EXPECT_EQ(Said("fp16", {{"byteps_compressor", "fp16"}}), "");
}

TEST(ProgramsChoice, IsAnErrorUnderStrictSettingsOnEveryRank) {
  Settings settings;
  settings.strict = true;
  settings.compression = {{"compressor", "dgc"}};
  for (const int rank : {0, 1}) {
    EXPECT_THAT(
        [&] {
          CheckProgramsChoice({{"compressor", "fp16"}}, settings, rank);
        },
        testing::ThrowsMessage<InvalidArgument>(HasSubstr("strict settings")));
  }
}

}  // namespace
}  // namespace weir
