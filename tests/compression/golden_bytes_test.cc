// What random codecs draw, frozen: other machines, compilers and versions must draw the same, or
// ranks of one job disagree. The numbers come from a plain implementation of what
// compression/counter_random.h, codecs/random_indices.h and cpu/dither.h describe, written apart
// from this library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compression/codecs/random_indices.h"
#include "compression/registry.h"
#include "tests/compression/test_compressor.h"

namespace weir {
namespace {

using testing::ElementsAre;

constexpr std::size_t kValues = 40;  // Three words of each block of random numbers.

/// What rank 3 sends in step 5: values from -1.25 to 1.25.
std::vector<int> Sent(CompressionOptions options) {
  options["seed"] = "7";
  options["min_elements"] = "0";
  const auto compressor = MakeCompressor(options, TensorSpec{"w", Shape{kValues}});
  std::vector<float> values(kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = (static_cast<float>(i * 37 % 41) - 20.0f) / 16.0f;
  }
  std::vector<int> bytes;
  for (const std::byte byte : test::Send(*compressor, {.step = 5, .rank = 3}, values)) {
    bytes.push_back(std::to_integer<int>(byte));
  }
  return bytes;
}

TEST(GoldenBytes, RandomIndicesOfASeedAStepAndATensor) {
  EXPECT_THAT(RandomIndices(CounterRandom(7, "w"), 5, 1000, 8),
              ElementsAre(1, 29, 264, 369, 465, 644, 911, 966));
  EXPECT_THAT(RandomIndices(CounterRandom(7, "w"), std::int64_t{1} << 33, 100'000, 5),
              ElementsAre(33166, 35008, 53038, 92764, 98049));
}

TEST(GoldenBytes, ADitheredPayload) {
  EXPECT_THAT(Sent({{"compressor", "dithering"}, {"k", "7"}}),
              ElementsAre(0x00, 0x00, 0xa0, 0x3f,  // The scale, 1.25.
                          0x00,                    // 4 bits a level.
                          0x69, 0x34, 0x02, 0xef, 0xbc, 0x79, 0x45, 0x12, 0xef, 0xbc,  //
                          0x79, 0x46, 0x23, 0xf0, 0xbd, 0x7a, 0x56, 0x23, 0xe0, 0xbd));
}

TEST(GoldenBytes, ATernGradPayload) {
  EXPECT_THAT(Sent({{"compressor", "terngrad"}, {"clip_deviations", "0"}}),
              ElementsAre(0x00, 0x00, 0xa0, 0x3f,  // The scale, 1.25.
                          0x00,                    // 2 bits a level.
                          0x07, 0x30, 0x7c, 0x45, 0xf0, 0x17, 0x04, 0x7c, 0x45, 0xc0));
}

}  // namespace
}  // namespace weir
