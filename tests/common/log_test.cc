#include "common/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(Log, LinesCarryRankHostAndLevel) {
  Settings settings;
  settings.log_timestamps = false;
  settings.log_level = LogLevel::kInfo;
  Log::Configure(settings, 3, "node%a");
  CaptureStderr();
  LogInfo("{} of {}", 1, "two");
  LogError("{{%v}}");
  LogDebug("not shown");
  EXPECT_EQ(GetCapturedStderr(),
            "[weir rank 3 node%a] info: 1 of two\n[weir rank 3 node%a] error: {%v}\n");
}

TEST(Log, AThreadMayHaveARankOfItsOwn) {
  Settings settings;
  settings.log_timestamps = false;
  Log::Configure(settings, 3, "a");
  CaptureStderr();
  std::thread([] {
    Log::SetRankOfThread(1);
    LogError("one");
  }).join();
  LogError("three");
  EXPECT_EQ(GetCapturedStderr(), "[weir rank 1 a] error: one\n[weir rank 3 a] error: three\n");
}

TEST(Log, OnlyRankZeroWritesTheSettingsWarnings) {
  const auto settings = Settings::FromEnvironment({{"WEIR_FUSION", "1"}});
  CaptureStderr();
  Log::Configure(settings, 1, "a");
  EXPECT_EQ(GetCapturedStderr(), "");
  CaptureStderr();
  Log::Configure(settings, 0, "a");
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("[weir rank 0 a] warning"), HasSubstr("WEIR_FUSION")));
}

TEST(Log, CostlyMessagesCanBeSkipped) {
  Settings settings;
  settings.log_level = LogLevel::kError;
  Log::Configure(settings, 1, "a");
  EXPECT_FALSE(Log::Enabled(LogLevel::kWarning));
  EXPECT_TRUE(Log::Enabled(LogLevel::kError));
}

}  // namespace
}  // namespace weir
