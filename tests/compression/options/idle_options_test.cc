// Options without effect, which are refused, and options that are seldom meant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compression/make_compressor.h"
#include "compression/options/options.h"
#include "compression/options/registry.h"
#include "compression/options/route_options.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;

TEST(IdleOptions, AreRefused) {
  const auto refused = [](CompressionOptions options) {
    options.insert({"compressor", "dgc"});
    try {
      const ParsedOptions parsed = ParseOptions(options);
      MakeCompressor(parsed, {"w", Shape{100, 100}});
      ScheduleOf(parsed);
      RouteOf(parsed);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused({{"momentum", "none"}, {"momentum_mu", "0.5"}}), HasSubstr("momentum_mu"));
  EXPECT_THAT(refused({{"momentum_masking", "false"}, {"gain_compensation", "true"}}),
              HasSubstr("gain_compensation"));
  const std::string give = "also give \"warmup_steps\"";
  EXPECT_THAT(refused({{"schedule", "exponential"}}), HasSubstr(give));
  EXPECT_THAT(refused({{"sparsity", "0.9, 0.99"}}), HasSubstr(give));
  EXPECT_EQ(refused({{"sparsity", "0.99"}}), "accepted");
  for (const char* steps : {"warmup_steps", "rampup_step"}) {
    EXPECT_EQ(refused({{"schedule", "exponential"}, {steps, "9"}}), "accepted");
    EXPECT_EQ(refused({{"sparsity", "0.9, 0.99"}, {steps, "1"}}), "accepted");
  }
  EXPECT_THAT(refused({{"schedule", "constant"}, {"warmup_steps", "9"}}),
              HasSubstr("warmup_steps"));
  EXPECT_THAT(refused({{"schedule", "constant"}, {"sparsity", "0.9, 0.99"}}),
              HasSubstr("sparsity"));
  EXPECT_EQ(refused({{"schedule", "constant"}, {"sparsity", "0.99"}}), "accepted");
  for (const char* route : {"allgather", "split", "push_pull"}) {
    EXPECT_THAT(refused({{"route", route}, {"host_values", "fp16"}}), HasSubstr("host_values"));
  }
  EXPECT_EQ(refused({{"route", "hierarchical"}, {"host_values", "fp16"}}), "accepted");
}

TEST(Cautions, BelongToWhatIsAllowedAndSeldomMeant) {
  const auto caution = [](const CompressionOptions& options) {
    return CautionOf(ParseOptions(options));
  };
  EXPECT_THAT(caution({{"compressor", "onebit"}}), HasSubstr("scaling=true"));
  for (const char* scaling : {"true", "false"}) {
    EXPECT_EQ(caution({{"compressor", "onebit"}, {"scaling", scaling}}), "");
  }
  EXPECT_EQ(caution({{"compressor", "topk"}, {"density", "1"}}), "");
  EXPECT_NE(caution({{"compressor", "topk"}, {"k", "1"}}), "");
  for (const char* compressor : {"topk", "randomk", "threshold"}) {
    CompressionOptions options = {{"compressor", compressor}};
    if (options["compressor"] == "threshold") options["threshold"] = "1";
    EXPECT_THAT(caution(options), HasSubstr("give ef=vanilla"));
    for (const char* ef : {"vanilla", "none"}) {
      options["ef"] = ef;
      EXPECT_EQ(caution(options), "") << ef;
    }
  }
  EXPECT_EQ(caution({{"compressor", "randomk"}, {"unbiased", "true"}}), "");
  EXPECT_THAT(caution({{"compressor", "dgc"}, {"momentum", "none"}, {"gain_compensation", "1"}}),
              HasSubstr("has no effect"));
  EXPECT_EQ(caution({{"compressor", "dgc"}, {"momentum", "none"}}), "");
  EXPECT_EQ(caution({{"compressor", "dgc"}, {"gain_compensation", "1"}}), "");
}

}  // namespace
}  // namespace weir
