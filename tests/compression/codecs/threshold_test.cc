#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<Compressor> MakeThreshold(CompressionOptions options) {
  options.insert({{"compressor", "threshold"}, {"min_elements", "0"}, {"values", "fp32"}});
  return MakeCompressor(options, TensorSpec{"w", Shape{8}});
}

const std::vector<float> kGradient = {0.5f, -3, 2, 4, -0.5f, 1, 0, 2.5f};

TEST(Threshold, SendsWhatIsLarger) {
  const auto compressor = MakeThreshold({{"threshold", "2"}, {"max_density", "1"}});
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, kGradient),
              ElementsAre(0, -3, 0, 4, 0, 0, 0, 2.5f));
  EXPECT_EQ(test::Send(*compressor, {}, std::vector<float>(8, 1.0f)).size(), 6u) << "nothing is";
}

TEST(Threshold, TheLargestGoWhereThereAreTooMany) {
  const auto compressor = MakeThreshold({{"threshold", "0.1"}, {"max_density", "0.25"}});
  EXPECT_THAT(test::SendAndReceive(*compressor, {}, kGradient),
              ElementsAre(0, -3, 0, 4, 0, 0, 0, 0));
}

TEST(Threshold, HasNoDefault) {
  EXPECT_THAT([] { MakeThreshold({}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs the option")));
}

}  // namespace
}  // namespace weir
