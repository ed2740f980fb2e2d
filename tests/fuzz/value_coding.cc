// Whole values of a part, with the scale that its header names.
#include "compression/wire/value_coding.h"

#include <algorithm>
#include <cmath>

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kExponents = kMaxScaleExponent - kMinScaleExponent + 1;

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const auto type = static_cast<ValueType>(input.Number(1));
  const int any = kMinScaleExponent + static_cast<int>(input.Number(kExponents - 1));
  const int exponent = type == ValueType::kFloat32 ? 0 : any;
  const std::size_t count = input.Rest().size() / ValueBytes(1, type);
  const auto received = input.Rest().first(ValueBytes(count, type));
  if (!Accepts<Corrupt>([&] { CheckValues(received, count, type); })) return;

  std::vector<float> values(count);
  DecodeValues(received, type, exponent, /*negate=*/false, 0, values);
  std::vector<float> negated(count);
  DecodeValues(received, type, exponent, /*negate=*/true, 0, negated);
  for (std::size_t i = 0; i < count; ++i) {
    WEIR_CHECK(std::isfinite(values[i]) && negated[i] == -values[i]);
  }
  Bytes again(received.size());
  EncodeValues(values, type, exponent, again.data());
  WEIR_CHECK_MSG(std::ranges::equal(again, received), "decoding rounds nothing");
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const ValueType type : {ValueType::kFloat16, ValueType::kFloat32}) {
    for (const float scale : {1e-44f, 1e-3f, 1.0f, 1e30f}) {
      std::vector<float> values = {0.0f, -0.0f, scale, -3 * scale, scale / 1000};
      const int exponent = ScaleExponent(values, type);
      Bytes encoded(ValueBytes(values.size(), type));
      EncodeValues(values, type, exponent, encoded.data());
      const int place = exponent - kMinScaleExponent;
      seeds.push_back(
          Seed({static_cast<std::size_t>(type), static_cast<std::size_t>(place)}, encoded));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
