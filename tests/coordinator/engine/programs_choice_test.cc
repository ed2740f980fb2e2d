#include "coordinator/engine/programs_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;

/// Returns the log output if the settings ask for `asked`.
std::string Said(const std::string& asked, const CompressionOptions& choice, bool speaks = true) {
  Settings settings;
  if (!asked.empty()) settings.compression = CompressionFromText(asked);
  testing::internal::CaptureStderr();
  CheckProgramsChoice("opt", choice, settings, speaks);
  return testing::internal::GetCapturedStderr();
}

TEST(ProgramsChoice, OverridesTheSettingsAloud) {
  const CompressionOptions half = {{"compressor", "fp16"}};
  EXPECT_THAT(
      Said("compressor=dgc,density=0.01", half),
      testing::AllOf(HasSubstr("which is compressor=dgc,density=0.01, has no effect on 'opt'"),
                     HasSubstr("compressor=fp16")));
  EXPECT_THAT(Said("dgc", {}), HasSubstr("none of the engine's"));
  EXPECT_EQ(Said("dgc", half, false), "");
}

TEST(ProgramsChoice, ThatTheSettingsShareOrLeaveFreeIsNoNews) {
  EXPECT_EQ(Said("", {{"compressor", "fp16"}}), "");
  EXPECT_EQ(Said("fp16", {{"byteps_compressor", "fp16"}}), "");
  EXPECT_EQ(Said("compressor=dgc,sparsity=[0.5,0.9]",
                 {{"compressor", "dgc"}, {"sparsity", "0.5,9e-1"}, {"density[fc*]", "1"}}),
            "");
  EXPECT_NE(Said("compressor=dgc,sparsity=[0.5,0.9]", {{"compressor", "dgc"}, {"sparsity", "0.9"}}),
            "");
}

TEST(ProgramsChoice, IsAnErrorUnderStrictSettingsOnEveryRank) {
  Settings settings;
  settings.strict = true;
  settings.compression = {{"compressor", "dgc"}};
  for (const bool speaks : {false, true}) {
    EXPECT_THAT(
        [&] {
          CheckProgramsChoice("opt", {{"compressor", "fp16"}}, settings, speaks);
        },
        testing::ThrowsMessage<InvalidArgument>(HasSubstr("strict settings")));
  }
}

}  // namespace
}  // namespace weir
