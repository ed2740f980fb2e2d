// Draws of random codecs, frozen: other machines, compilers and versions must draw the same,
// or ranks of one job disagree. The numbers come from a plain implementation of the
// descriptions in compression/random/counter_random.h, codecs/random_indices.h and
// cpu/dither.h, written apart from this library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compression/codecs/random_indices.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/wire_page.h"

namespace weir {
namespace {

using testing::ElementsAre;

constexpr std::size_t kValues = 40;  // Three words of each block of random numbers.

/// Payload of rank 3 in step 5: values from -1.25 to 1.25.
std::vector<std::byte> Sent(CompressionOptions options) {
  options["seed"] = "7";
  options["min_elements"] = "0";
  const auto compressor = MakeCompressor(options, TensorSpec{"w", Shape{kValues}});
  std::vector<float> values(kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = (static_cast<float>(i * 37 % 41) - 20.0f) / 16.0f;
  }
  return test::Send(*compressor, {.step = 5, .rank = 3}, values);
}

TEST(GoldenBytes, RandomIndicesOfASeedAStepAndATensor) {
  EXPECT_THAT(RandomIndices(CounterRandom(7, "w"), 5, 1000, 8),
              ElementsAre(1, 29, 264, 369, 465, 644, 911, 966));
  EXPECT_THAT(RandomIndices(CounterRandom(7, "w"), std::int64_t{1} << 33, 100'000, 5),
              ElementsAre(33166, 35008, 53038, 92764, 98049));
}

TEST(GoldenBytes, ADitheredPayload) {
  test::ExpectAsOnThePage(
      Sent({{"compressor", "dithering"}, {"k", "7"}}),
      "00 00 a0 3f 01 14 e0 69 34 02 ef bc 79 45 12 ef bc 79 46 23 f0 bd 7a 56 23 e0 "
      "bd");
}

TEST(GoldenBytes, ATernGradPayload) {
  test::ExpectAsOnThePage(Sent({{"compressor", "terngrad"}, {"clip_deviations", "0"}}),
                          "00 00 a0 3f 00 07 30 7c 45 f0 17 04 7c 45 c0");
}

}  // namespace
}  // namespace weir
