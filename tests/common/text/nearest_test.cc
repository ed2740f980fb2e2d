#include "common/text/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

const std::vector<std::string> kKeys = {"density", "momentum", "momentum_mu", "warmup_steps"};

TEST(Nearest, IsTheCandidateWithTheFewestEdits) {
  EXPECT_EQ(Nearest("densty", kKeys), "density");
  EXPECT_EQ(Nearest("momentun", kKeys), "momentum");
  EXPECT_EQ(Nearest("momentum_nu", kKeys), "momentum_mu");
  EXPECT_EQ(Nearest("warmupsteps", kKeys), "warmup_steps");
}

TEST(Nearest, TheFirstOfEqualsWinsAndNoCandidateIsEmpty) {
  const std::vector<std::string> equals = {"ab", "ac"};
  EXPECT_EQ(Nearest("ad", equals), "ab");
  EXPECT_EQ(Nearest("ad", {}), "");
}

TEST(DidYouMean, SuggestsWhatIsASlipAwayAndNothingElse) {
  EXPECT_EQ(DidYouMean("densty", kKeys), "; did you mean 'density'?");
  EXPECT_EQ(DidYouMean("compresor", std::vector<std::string>{"compressor"}),
            "; did you mean 'compressor'?");
  EXPECT_EQ(DidYouMean("dcg", std::vector<std::string>{"dgc"}), "; did you mean 'dgc'?");
  EXPECT_EQ(DidYouMean("DGC", std::vector<std::string>{"dgc"}), "; did you mean 'dgc'?");
  EXPECT_EQ(DidYouMean("--bogus", std::vector<std::string>{"--hosts", "--gloo"}), "");
  EXPECT_EQ(DidYouMean("", kKeys), "");
  EXPECT_EQ(DidYouMean("density", {}), "");
}

}  // namespace
}  // namespace weir
