#include "common/half_array.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "common/half.h"

namespace weir {
namespace {

using Bits16 = std::vector<std::uint16_t>;
using Bits32 = std::vector<std::uint32_t>;

Bits16 AllSixteenBitPatterns() {
  Bits16 all(1u << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

/// Every exponent and sign with the mantissas at which rounding decides, and random ones; an odd
/// count, so that the scalar tail takes part.
std::vector<float> FloatsOfAllKinds() {
  const unsigned seed = 20240607;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<float> floats;
  for (std::uint32_t head = 0; head < 512; ++head) {
    const std::uint32_t base = head << 23;
    for (std::uint32_t upper = 0; upper < (1u << 11); upper += 1 + random() % 64) {
      const std::uint32_t step = base + (upper << 12);
      for (std::uint32_t bits :
           {step - 1, step, step + 1, base + static_cast<std::uint32_t>(random() % (1u << 23))}) {
        floats.push_back(std::bit_cast<float>(bits));
      }
    }
  }
  if (floats.size() % 2 == 0) floats.push_back(1.0f);
  return floats;
}

Bits32 BitsOf(const std::vector<float>& floats) {
  Bits32 bits;
  for (float value : floats) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST(HalfArray, WidensLikeTheScalarCode) {
  const Bits16 all = AllSixteenBitPatterns();
  std::vector<float> array(all.size());
  std::vector<float> scalar(all.size());
  HalvesToFloats(all, array);
  for (std::size_t i = 0; i < all.size(); ++i) scalar[i] = HalfToFloat(all[i]);
  EXPECT_EQ(BitsOf(array), BitsOf(scalar));
  BFloat16sToFloats(all, array);
  for (std::size_t i = 0; i < all.size(); ++i) scalar[i] = BFloat16ToFloat(all[i]);
  EXPECT_EQ(BitsOf(array), BitsOf(scalar));
}

TEST(HalfArray, NarrowsLikeTheScalarCode) {
  const std::vector<float> floats = FloatsOfAllKinds();
  Bits16 array(floats.size());
  Bits16 scalar(floats.size());
  FloatsToHalves(floats, array);
  for (std::size_t i = 0; i < floats.size(); ++i) scalar[i] = FloatToHalf(floats[i]);
  EXPECT_EQ(array, scalar);
  FloatsToBFloat16s(floats, array);
  for (std::size_t i = 0; i < floats.size(); ++i) scalar[i] = FloatToBFloat16(floats[i]);
  EXPECT_EQ(array, scalar);
}

}  // namespace
}  // namespace weir
