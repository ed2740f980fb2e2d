#include "compression/wire/value_coding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "common/check.h"
#include "common/half_array.h"
#include "compression/wire/low_bit_values.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kConvertedAtOnce =
    512;  // Values converted at a time, in the first-level cache.
constexpr std::uint32_t kAbsolute = 0x7fffffff;
constexpr std::int32_t kInfinityBits = 0x7f800000;

/// No early exit: this loop vectorises, and non-finite parts are rare.
template <typename Word>
bool AllExponentsBelow(std::span<const std::byte> bytes, Word exponent) {
  const std::size_t count = bytes.size() / sizeof(Word);
  Word specials = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, bytes.data() + i * sizeof(Word), sizeof word);
    specials |= (word & exponent) == exponent ? 1 : 0;
  }
  return specials == 0;
}

void EncodeHalves(std::span<float> values, int exponent, std::byte* out) {
  const float down = PowerOfTwo(-exponent);
  const float up = PowerOfTwo(exponent);
  std::array<float, kConvertedAtOnce> scaled;
  std::array<std::uint16_t, kConvertedAtOnce> halves;
  while (!values.empty()) {
    const std::size_t count = std::min(kConvertedAtOnce, values.size());
    const std::span<float> block = std::span(scaled).first(count);
    const std::span<std::uint16_t> encoded = std::span(halves).first(count);
    for (std::size_t i = 0; i < count; ++i) block[i] = Saturated(values[i] * down, kLargestHalf);
    FloatsToHalves(block, encoded);
    std::memcpy(out, halves.data(), encoded.size_bytes());
    HalvesToFloats(encoded, block);
    for (std::size_t i = 0; i < count; ++i) values[i] = block[i] * up;
    values = values.subspan(count);
    out += encoded.size_bytes();
  }
}

}  // namespace

std::size_t ValueBytes(std::size_t count, ValueType type) {
  if (type == ValueType::kFloat16) return 2 * count;
  return type == ValueType::kFloat32 ? 4 * count : LowBitBytes(count, type);
}

int ScaleExponent(std::span<const float> values, ValueType type) {
  if (type == ValueType::kFloat32) return 0;
  std::int32_t largest = 0;  // Bit patterns of non-negative floats order as signed integers do.
  for (const float value : values) {
    const auto magnitude =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value) & kAbsolute);
    const std::int32_t finite = magnitude < kInfinityBits ? magnitude : 0;
    largest = finite > largest ? finite : largest;
  }
  return ScaleExponentOfLargest(static_cast<std::uint32_t>(largest));
}

void EncodeValues(std::span<float> values, ValueType type, int exponent, std::byte* out) {
  if (type == ValueType::kFloat16) {
    EncodeHalves(values, exponent, out);
    return;
  }
  if (IsLowBit(type)) return EncodeLowBit(values, type, exponent, out);
  for (float& value : values) value = Saturated(value, std::numeric_limits<float>::max());
  if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
}

void CheckValues(std::span<const std::byte> bytes, std::size_t count, ValueType type) {
  if (IsLowBit(type)) return CheckLowBit(bytes, count, type);
  const DType dtype = type == ValueType::kFloat16 ? DType::kFloat16 : DType::kFloat32;
  if (!AllFinite(bytes, dtype)) {
    throw Corrupt("part of a frame: a value is inf or NaN, which no sender writes");
  }
}

bool AllFinite(std::span<const std::byte> bytes, DType dtype) {
  if (dtype == DType::kFloat32) return AllExponentsBelow<std::uint32_t>(bytes, kInfinityBits);
  WEIR_CHECK(dtype == DType::kFloat16 || dtype == DType::kBFloat16);
  return AllExponentsBelow<std::uint16_t>(bytes, dtype == DType::kFloat16 ? 0x7c00 : 0x7f80);
}

void DecodeValues(std::span<const std::byte> bytes, ValueType type, int exponent, bool negate,
                  std::size_t first, std::span<float> values) {
  const float factor = (negate ? -1.0f : 1.0f) * PowerOfTwo(exponent);
  if (IsLowBit(type)) return DecodeLowBit(bytes, type, factor, first, values);
  const std::byte* from = bytes.data() + ValueBytes(first, type);
  if (type == ValueType::kFloat32) {
    if (!values.empty()) std::memcpy(values.data(), from, values.size_bytes());
    for (float& value : values) value *= factor;
    return;
  }
  std::array<std::uint16_t, kConvertedAtOnce> halves;
  for (std::size_t done = 0; done < values.size(); done += kConvertedAtOnce) {
    const std::size_t count = std::min(kConvertedAtOnce, values.size() - done);
    std::memcpy(halves.data(), from + 2 * done, 2 * count);
    HalvesToFloats(std::span(halves).first(count), values.subspan(done, count));
  }
  for (float& value : values) value *= factor;
}

}  // namespace weir
