#include "compression/memory/signum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"

namespace weir {
namespace {

using testing::ElementsAre;

std::unique_ptr<Compressor> Make(const char* mu) {
  return MakeCompressor({{"compressor", "signum"}, {"momentum_mu", mu}}, TensorSpec{"w", Shape{4}});
}

TEST(Signum, TheMajorityDecides) {
  const auto a = Make("0");
  const auto b = Make("0");
  const auto c = Make("0");
  const std::vector<std::vector<std::byte>> sent = {test::Send(*a, {}, {1, 100, -1, -5}),
                                                    test::Send(*b, {}, {2, -1, -1, 5}),
                                                    test::Send(*c, {}, {-9, -1, -1, 5})};
  const std::vector<std::span<const std::byte>> payloads(sent.begin(), sent.end());
  std::vector<float> mean(4);
  a->MergeMean(payloads, mean);
  a->Finish({}, mean);
  EXPECT_THAT(mean, ElementsAre(1, -1, -1, 1));
  a->MergeMean(std::span(payloads).first(2), mean);
  a->Finish({}, mean);
  EXPECT_THAT(mean, ElementsAre(1, 0, -1, 0)) << "a tie is no direction";
}

TEST(Signum, SendsTheSignsOfTheMomentum) {
  const auto compressor = Make("0.9");
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, {10, -10, 1, -1}), ElementsAre(1, -1, 1, -1));
  // 0.9 of 1 and 0.1 of what is below or above -9.
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, {-8, 8, -10, 10}), ElementsAre(1, -1, -1, 1));
  EXPECT_NEAR(compressor->State().front().values[0], 0.9 - 0.8, 1e-6);
}

TEST(Signum, TheDensePhaseContinuesOneRecursion) {
  const auto compressor = Make("0.5");
  std::vector<float> mean = {4, -4, 0, 1};
  compressor->Finish({.dense_phase = true}, mean);
  EXPECT_THAT(mean, ElementsAre(1, -1, 0, 1));
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, {-1, 1, -1, -2}), ElementsAre(1, -1, -1, -1));
}

TEST(Signum, ANonFiniteEntryCountsAsZero) {
  const auto compressor = Make("0");
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, {1, NAN, -INFINITY, -1}),
              ElementsAre(1, 1, 1, -1));
  EXPECT_EQ(compressor->non_finite_entries(), 2u);
}

}  // namespace
}  // namespace weir
