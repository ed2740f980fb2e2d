#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "examples/01-byte-lm/options.h"
#include "weir/error.h"

namespace byte_lm {
namespace {

using Dictionary = std::map<std::string, std::string>;

Options Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "byte-lm");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data()).value();
}

std::string ErrorOf(const std::vector<const char*>& arguments) {
  try {
    Parse(arguments);
  } catch (const weir::InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Options, WithoutACompressorTheEngineDecides) { EXPECT_EQ(Parse({}).compressor, Dictionary{}); }

TEST(Options, ACompressorIsANameOrAList) {
  EXPECT_EQ(Parse({"--compressor", "dgc"}).compressor, (Dictionary{{"compressor", "dgc"}}));
  EXPECT_EQ(Parse({"--compressor", "compressor=topk,k=0.01,ef=vanilla"}).compressor,
            (Dictionary{{"compressor", "topk"}, {"k", "0.01"}, {"ef", "vanilla"}}));
  EXPECT_EQ(Parse({"--compressor", "compressor=dgc,sparsity=[0.5,0.75],values=fp32"}).compressor,
            (Dictionary{{"compressor", "dgc"}, {"sparsity", "[0.5,0.75]"}, {"values", "fp32"}}));
}

TEST(Options, ShortOptionsJoinTheDictionary) {
  EXPECT_EQ(
      Parse({"--compressor", "dgc", "--density", "0.001", "--warmup-steps", "500"}).compressor,
      (Dictionary{{"compressor", "dgc"}, {"density", "0.001"}, {"warmup_steps", "500"}}));
}

TEST(Options, AListWithoutAnEqualsSignIsNamed) {
  EXPECT_THAT(ErrorOf({"--compressor", "compressor=topk,oops"}), testing::HasSubstr("\"oops\""));
  EXPECT_THAT(ErrorOf({"--compressor", "density=0.1"}), testing::HasSubstr("compressor="));
  EXPECT_THAT(ErrorOf({"--compressor", "compressor=dgc,density=0.1,density=0.2"}),
              testing::HasSubstr("gives density twice"));
}

TEST(Options, BadValuesNameTheOption) {
  EXPECT_THAT(ErrorOf({"--steps", "-3"}),
              testing::HasSubstr("--steps: -3 is not allowed; give a number above 0"));
  EXPECT_THAT(ErrorOf({"--lr", "nan"}), testing::HasSubstr("--lr"));
  EXPECT_THAT(ErrorOf({"--schedule", "linear"}), testing::HasSubstr("--schedule"));
  EXPECT_THAT(ErrorOf({"--bogus"}), testing::HasSubstr("--bogus"));
  EXPECT_THAT(ErrorOf({"--steps", "10", "--lr-warmup-steps", "10"}),
              testing::HasSubstr("--lr-warmup-steps"));
}

TEST(Options, AResultWithoutAFolderIsRefusedBeforeTraining) {
  EXPECT_THAT(ErrorOf({"--json", "no/such/folder/result.json"}),
              testing::HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace byte_lm
