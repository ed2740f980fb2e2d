#include "compression/codecs/int8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::byte> Encoded(const std::vector<float>& values) {
  std::vector<std::byte> payload(Int8Codec().MaxEncodedBytes(values.size(), 1.0));
  payload.resize(Int8Codec().Encode({}, values, payload));
  return payload;
}

std::vector<float> Decoded(const std::vector<float>& values) {
  std::vector<float> sum(values.size());
  Int8Codec().Merge(Encoded(values), sum);
  return sum;
}

TEST(Int8, ValuesAreMultiplesOfTheLargest) {
  EXPECT_THAT(Decoded({127, -127, 1, 0.4f, -0.6f, 63.5f}),
              testing::ElementsAre(127, -127, 1, 0, -1, 64));
}

TEST(Int8, TheBytesAreThoseOfTheWireFormatsPage) {
  test::ExpectAsOnThePage(Encoded({254, -2, 3}), "00 00 00 40 7f ff 02");
}

TEST(Int8, NoEntryIsFurtherOffThanHalfAStepOfItsBlock) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(3 * Int8Codec::kBlock + 17);
  for (float& value : values) value = normal(random);
  values[0] = 1000.0f;  // Does not affect the other blocks.
  const auto decoded = Decoded(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float largest = i < Int8Codec::kBlock ? 1000.0f : 6.0f;
    EXPECT_LE(std::abs(decoded[i] - values[i]), 0.5001f * largest / 127) << i;
  }
}

TEST(Int8, TheEndsOfTheFormatAreKept) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float huge = std::numeric_limits<float>::max();
  EXPECT_THAT(Decoded({tiny, -3 * tiny, 0}), testing::ElementsAre(tiny, -3 * tiny, 0));
  EXPECT_THAT(Decoded({huge, -huge}),
              testing::ElementsAre(testing::FloatEq(huge), testing::FloatEq(-huge)));
  EXPECT_THAT(Decoded({0, -0.0f}), testing::Each(0.0f));
}

TEST(Int8, AnOddScaleIsCorrupt) {
  auto payload = Encoded(std::vector<float>(300, 1.0f));
  const float scale = std::nanf("");
  std::memcpy(payload.data() + 4 + Int8Codec::kBlock, &scale, sizeof scale);
  EXPECT_THAT([&] { Int8Codec().Check(payload, 300); },
              ThrowsMessage<Corrupt>(HasSubstr("the scale of a block is")));
}

TEST(Int8, ALevelThatNoSenderWritesIsCorrupt) {
  const auto corrupt = ThrowsMessage<Corrupt>(HasSubstr("a level does not fit"));
  auto payload = Encoded(std::vector<float>(300, 1.0f));
  payload.back() = std::byte{0x80};
  EXPECT_THAT([&] { Int8Codec().Check(payload, 300); }, corrupt);
  payload = Encoded(std::vector<float>(300, 0.0f));
  EXPECT_NO_THROW(Int8Codec().Check(payload, 300));
  payload.back() = std::byte{1};  // The block is all zero.
  EXPECT_THAT([&] { Int8Codec().Check(payload, 300); }, corrupt);
}

}  // namespace
}  // namespace weir
