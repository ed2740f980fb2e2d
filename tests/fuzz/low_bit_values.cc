// Values of a part in 8, 4 or 2 bits.
#include "compression/wire/low_bit_values.h"

#include <cmath>
#include <random>

#include "compression/wire/value_coding.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostValues = 2000;
constexpr std::size_t kTypes = std::size(test::kLowBitTypes);

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const ValueType type = test::kLowBitTypes[input.Number(kTypes - 1)];
  const std::size_t count = input.Number(kMostValues);
  const Bytes received = input.Exactly(LowBitBytes(count, type));
  if (!Accepts<Corrupt>([&] { CheckLowBit(received, count, type); })) return;
  for (const int exponent : {kMinScaleExponent, 0, kMaxScaleExponent}) {
    std::vector<float> values(count);
    DecodeLowBit(received, type, PowerOfTwo(exponent), 0, values);
    std::vector<float> negated(count);
    DecodeLowBit(received, type, -PowerOfTwo(exponent), 0, negated);
    for (std::size_t i = 0; i < count; ++i) {
      WEIR_CHECK(std::isfinite(values[i]) && negated[i] == -values[i]);
    }
    std::vector<float> last(count == 0 ? 0 : 1);
    DecodeLowBit(received, type, PowerOfTwo(exponent), count - last.size(), last);
    WEIR_CHECK(last.empty() || last[0] == values.back());

    std::vector<float> sent = values;
    Bytes again(received.size());
    EncodeLowBit(sent, type, ScaleExponent(values, type), again.data());
    WEIR_CHECK(Accepts<Corrupt>([&] { CheckLowBit(again, count, type); }));
    WEIR_CHECK_MSG(type != ValueType::kInt2 || sent == values, "two magnitudes stay what they are");
  }
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (std::size_t t = 0; t < kTypes; ++t) {
    for (const std::size_t count : {0u, 1u, 3u, 100u, 1001u}) {
      std::vector<float> values = test::RandomSample(count, count, random).values;
      const ValueType type = test::kLowBitTypes[t];
      Bytes encoded(LowBitBytes(count, type));
      EncodeLowBit(values, type, ScaleExponent(values, type), encoded.data());
      seeds.push_back(Seed({t, count}, encoded));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
