// Options of tensors by name: those that hold for a tensor, and those that are refused.
#include "compression/options/tensor_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string WhyRefused(const CompressionOptions& options, const std::string& tensor = "fc1.bias") {
  try {
    TensorOptions(options).For(tensor);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TensorOptions, APatternsKeysComeOnTopForTheTensorsItMatches) {
  const TensorOptions options(
      {{"compressor", "dgc"}, {"density", "0.001"}, {"density[fc?.*]", "0.01"}});
  const CompressionOptions base = {{"compressor", "dgc"}, {"density", "0.001"}};
  EXPECT_TRUE(options.has_patterns());
  EXPECT_EQ(options.base(), base);
  EXPECT_EQ(options.For("conv.weight"), base);
  EXPECT_EQ(options.For("fc1.weight"),
            (CompressionOptions{{"compressor", "dgc"}, {"density", "0.01"}}));
}

TEST(TensorOptions, PatternsAreTheShells) {
  const TensorOptions options(
      {{"compressor", "topk"}, {"k[a*]", "1"}, {"k[b?]", "2"}, {"k[c[0-2].x]", "3"}});
  const auto k_of = [&](const std::string& tensor) {
    const CompressionOptions found = options.For(tensor);
    return found.contains("k") ? found.at("k") : "none";
  };
  EXPECT_EQ(k_of("a.deep/name"), "1");
  EXPECT_EQ(k_of("xa"), "none");
  EXPECT_EQ(k_of("b1"), "2");
  EXPECT_EQ(k_of("b11"), "none");
  EXPECT_EQ(k_of("c2.x"), "3");
  EXPECT_EQ(k_of("c3.x"), "none");
}

TEST(TensorOptions, TheMostSpecificPatternWins) {
  const TensorOptions options({{"compressor", "topk"},
                               {"k[*]", "1"},
                               {"k[fc*]", "2"},
                               {"k[*.weight]", "3"},
                               {"k[fc1.weigh*]", "4"},
                               {"k[fc1.weight]", "5"}});
  EXPECT_EQ(options.For("conv")["k"], "1");
  EXPECT_EQ(options.For("fc1")["k"], "2");
  EXPECT_EQ(options.For("fc2.weight")["k"], "3");
  EXPECT_EQ(options.For("fc1.weigh")["k"], "4");
  EXPECT_EQ(options.For("fc1.weight")["k"], "5");
}

TEST(TensorOptions, AnotherCompressorBeginsAnewButForWhatTheRunHasOneOf) {
  const TensorOptions options({{"compressor", "dgc"},
                               {"momentum", "vanilla"},
                               {"density", "0.01"},
                               {"clip_norm", "2"},
                               {"weight_decay", "0.1"},
                               {"compressor[*.bias]", "dense"},
                               {"compressor[fc*.bias]", "topk"},
                               {"k[fc*.bias]", "8"},
                               {"compressor[out.*]", "dgc"}});
  EXPECT_EQ(options.For("a.bias"),
            (CompressionOptions{{"compressor", "dense"}, {"clip_norm", "2"}}));
  EXPECT_EQ(options.For("fc1.bias"),
            (CompressionOptions{{"compressor", "topk"}, {"clip_norm", "2"}, {"k", "8"}}));
  EXPECT_EQ(options.For("out.weight"), options.base());
}

TEST(TensorOptions, EquallySpecificPatternsMayAgreeOrComplementEachOther) {
  const CompressionOptions given = {{"compressor", "dgc"},
                                    {"k[fc*]", "8"},
                                    {"compressor[*s1]", "topk"},
                                    {"compressor[fc*]", "topk"}};
  EXPECT_EQ(TensorOptions(given).For("fcs1"),
            (CompressionOptions{{"compressor", "topk"}, {"k", "8"}}));
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"k[fc*]", "8"}, {"k[*s1]", "9"}}, "fcs1"),
              AllOf(HasSubstr("\"k\" of tensor \"fcs1\""), HasSubstr("\"8\" by \"fc*\""),
                    HasSubstr("\"9\" by \"*s1\""), HasSubstr("equally specific")));
}

TEST(TensorOptions, WithoutAKeyForAllTensorsTheyAreAveraged) {
  const TensorOptions options({{"byteps_compressor[fc*]", "topk"}, {"byteps_k[fc*]", "0.1"}});
  EXPECT_EQ(options.For("conv"), (CompressionOptions{{"compressor", "dense"}}));
  EXPECT_EQ(options.For("fc"), (CompressionOptions{{"compressor", "topk"}, {"k", "0.1"}}));
  EXPECT_FALSE(TensorOptions({}).has_patterns());
  EXPECT_TRUE(TensorOptions({}).For("fc").empty());
}

TEST(TensorOptions, AMistakeInAPatternsOptionsNamesThePattern) {
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"densty[fc*]", "0.1"}}),
              AllOf(StartsWith("for tensors \"fc*\": "), HasSubstr("\"densty\" = \"0.1\""),
                    HasSubstr("did you mean 'density'?")));
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"density[nothing]", "2"}}),
              AllOf(StartsWith("for tensors \"nothing\": "), HasSubstr("above 0 and at most 1")));
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"compressor[*]", "top-k"}}),
              HasSubstr("did you mean 'topk'?"));
  EXPECT_THAT(
      WhyRefused({{"compressor", "dgc"}, {"compressor[*]", "topk"}, {"momentum_masking[*]", "1"}}),
      AllOf(StartsWith("for tensors \"*\": "), HasSubstr("compressor \"topk\"")));
}

TEST(TensorOptions, AKeyWithoutAWholePatternIsRefused) {
  for (const char* key : {"density[", "density[fc*", "density[]", "[fc*]", "density[fc*]x"}) {
    EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {key, "0.1"}}),
                AllOf(HasSubstr(key), HasSubstr("key[pattern]")));
  }
}

TEST(TensorOptions, WhatTheRunHasOneOfTakesNoPattern) {
  for (const char* key : {"clip_norm", "skip_nonfinite", "weight_decay"}) {
    EXPECT_THAT(
        WhyRefused({{"compressor", "dgc"}, {std::string(key) + "[*]", "1"}}),
        AllOf(HasSubstr("all tensors together"), HasSubstr("\"" + std::string(key) + "\"")));
  }
}

TEST(TensorOptions, PatternsThatMatchNothingAreTold) {
  const TensorOptions options(
      {{"compressor", "dgc"}, {"density[fc*]", "1"}, {"density[cnv*]", "1"}, {"density[x]", "1"}});
  const std::vector<std::string> tensors = {"conv", "fc"};
  EXPECT_THAT(options.CheckMatches(tensors, "model", false),
              AllOf(HasSubstr("\"cnv*\", \"x\""), HasSubstr("'model'"), HasSubstr("\"conv\""),
                    testing::Not(HasSubstr("fc*"))));
  EXPECT_THROW(options.CheckMatches(tensors, "model", true), InvalidArgument);
  EXPECT_EQ(TensorOptions({{"compressor", "dgc"}, {"density[fc*]", "1"}})
                .CheckMatches(tensors, "model", true),
            "");
}

}  // namespace
}  // namespace weir
