#include "compression/wire/low_bit_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/byte_stream.h"
#include "common/check.h"
#include "common/half.h"
#include "compression/wire/bit_stream.h"
#include "compression/wire/part_header.h"
#include "compression/wire/value_coding.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kHalfBytes = sizeof(std::uint16_t);
constexpr std::uint16_t kLargestFiniteHalf = 0x7bff;
constexpr float kBeyondHalves = 65536.0f;
constexpr unsigned kAbove = 1;  // Flag of a kInt2 value.
constexpr unsigned kNegative = 2;

constexpr unsigned BitsOf(ValueType type) {
  return type == ValueType::kInt8 ? 8 : type == ValueType::kInt4 ? 4 : 2;
}
constexpr int MostLevel(ValueType type) { return type == ValueType::kInt8 ? 127 : 7; }
/// Bytes of the step, or of the two magnitudes.
constexpr std::size_t HeadBytes(ValueType type) {
  return type == ValueType::kInt2 ? 2 * kHalfBytes : kHalfBytes;
}

std::uint16_t LoadHalf(std::span<const std::byte> bytes, std::size_t i) {
  return LoadLittleEndian<std::uint16_t>(bytes.data() + i * kHalfBytes);
}
float LoadHalfValue(std::span<const std::byte> bytes, std::size_t i) {
  return HalfToFloat(LoadHalf(bytes, i));
}

/// Returns the i-th code of so many bits; the first ones are in the low bits of each byte.
unsigned CodeAt(std::span<const std::byte> codes, unsigned bits, std::size_t i) {
  const std::size_t at = i * bits;
  return std::to_integer<unsigned>(codes[at / 8]) >> (at % 8) & ((1u << bits) - 1);
}
/// Writes a code; its bits in the byte must be 0.
void PutCode(std::byte* codes, unsigned bits, std::size_t i, unsigned code) {
  const std::size_t at = i * bits;
  codes[at / 8] |= static_cast<std::byte>((code & ((1u << bits) - 1)) << (at % 8));
}

/// A code as two's complement.
int LevelOf(unsigned code, unsigned bits) {
  const int level = static_cast<int>(code);
  return level < 1 << (bits - 1) ? level : level - (1 << bits);
}

/// The least half, at least largest / most; 0 for 0.
std::uint16_t StepFor(float largest, int most) {
  std::uint16_t step = FloatToHalf(largest / static_cast<float>(most));
  if (HalfToFloat(step) * static_cast<float>(most) < largest) ++step;
  return step;
}

/// Encodes scaled values, and replaces them by their decoded values.
void EncodeLevels(std::span<float> values, ValueType type, std::byte* out) {
  float largest = 0.0f;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const int most = MostLevel(type);
  const std::uint16_t half = StepFor(largest, most);
  StoreLittleEndian(out, half);
  if (half == 0) {
    std::ranges::fill(values, 0.0f);
    return;
  }
  const float step = HalfToFloat(half);
  const auto limit = static_cast<float>(most);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int level = static_cast<int>(std::clamp(std::nearbyint(values[i] / step), -limit, limit));
    PutCode(out + kHalfBytes, BitsOf(type), i, static_cast<unsigned>(level));
    values[i] = static_cast<float>(level) * step;
  }
}

/// Mean magnitudes of a part: of those up to the common mean, and of those above it.
struct TwoMeans {
  double mean = 0.0;
  std::uint16_t low = 0;
  std::uint16_t high = 0;  ///< Not less than `low`; equal where no value is above the mean.
};

// Sums go by index, in double, so that a part has the same bytes on every machine.
TwoMeans TwoMeansOf(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += std::abs(value);
  const double mean = sum / static_cast<double>(values.size());
  std::array<double, 2> sums = {};
  std::array<std::size_t, 2> counts = {};
  for (const float value : values) {
    const std::size_t above = std::abs(value) > mean ? 1 : 0;
    sums[above] += std::abs(value);
    ++counts[above];
  }
  // Rounding of the sum may put all of them on either side of their mean.
  const auto half_of = [&](std::size_t side) {
    const std::size_t with_any = counts[side] > 0 ? side : 1 - side;
    const double own = sums[with_any] / static_cast<double>(counts[with_any]);
    return FloatToHalf(static_cast<float>(own));
  };
  const std::uint16_t low = half_of(0);
  return {mean, low, std::max(low, half_of(1))};
}

/// Encodes scaled values, and replaces them by their decoded values.
void EncodeSigns(std::span<float> values, std::byte* out) {
  const TwoMeans means = TwoMeansOf(values);
  StoreLittleEndian(out, means.low);
  StoreLittleEndian(out + kHalfBytes, means.high);
  const float low = HalfToFloat(means.low);
  const float high = HalfToFloat(means.high);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool above = std::abs(values[i]) > means.mean;
    const bool negative = values[i] < 0.0f;
    const unsigned code = (above ? kAbove : 0) | (negative ? kNegative : 0);
    PutCode(out + 2 * kHalfBytes, BitsOf(ValueType::kInt2), i, code);
    const float magnitude = above ? high : low;
    values[i] = negative ? -magnitude : magnitude;
  }
}

void CheckStep(std::span<const std::byte> bytes, std::size_t count, ValueType type) {
  const std::uint16_t half = LoadHalf(bytes, 0);
  const int most = MostLevel(type);
  if (half > kLargestFiniteHalf || HalfToFloat(half) * static_cast<float>(most) >= kBeyondHalves) {
    ThrowFound("step (fp16)", half,
               "one that is not negative and whose largest level is below 65536");
  }
  const unsigned bits = BitsOf(type);
  const std::span<const std::byte> codes = bytes.subspan(kHalfBytes);
  int largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(LevelOf(CodeAt(codes, bits, i), bits)));
  }
  const int allowed = half == 0 ? 0 : most;
  if (largest > allowed) {
    ThrowFound("a level", largest, "at most " + std::to_string(allowed));
  }
}

void CheckMagnitudes(std::span<const std::byte> bytes) {
  const std::uint16_t low = LoadHalf(bytes, 0);
  const std::uint16_t high = LoadHalf(bytes, 1);
  if (high > kLargestFiniteHalf) ThrowFound("upper magnitude (fp16)", high, "a finite one");
  // Halves that are not negative order as integers do.
  if (low > high) {
    ThrowFound("lower magnitude (fp16)", low, "at most the upper one, " + std::to_string(high));
  }
}

}  // namespace

std::size_t LowBitBytes(std::size_t count, ValueType type) {
  return count == 0 ? 0 : HeadBytes(type) + BytesForBits(count * BitsOf(type));
}

void EncodeLowBit(std::span<float> values, ValueType type, int exponent, std::byte* out) {
  if (values.empty()) return;
  std::memset(out, 0, LowBitBytes(values.size(), type));
  const float down = PowerOfTwo(-exponent);
  const float up = PowerOfTwo(exponent);
  for (float& value : values) value = Saturated(value * down, kLargestHalf);
  if (type == ValueType::kInt2) {
    EncodeSigns(values, out);
  } else {
    EncodeLevels(values, type, out);
  }
  for (float& value : values) value *= up;
}

void CheckLowBit(std::span<const std::byte> bytes, std::size_t count, ValueType type) {
  WEIR_CHECK(bytes.size() == LowBitBytes(count, type));
  if (count == 0) return;
  if (!PaddingIsZero(bytes, HeadBytes(type) * 8 + count * BitsOf(type))) {
    throw Corrupt("part of a frame: bits after the last value are set");
  }
  if (type == ValueType::kInt2) {
    CheckMagnitudes(bytes);
  } else {
    CheckStep(bytes, count, type);
  }
}

void DecodeLowBit(std::span<const std::byte> bytes, ValueType type, float factor, std::size_t first,
                  std::span<float> values) {
  if (values.empty()) return;
  const std::span<const std::byte> codes = bytes.subspan(HeadBytes(type));
  const float unit = LoadHalfValue(bytes, 0) * factor;
  if (type == ValueType::kInt8) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<std::int8_t>(codes[first + i])) * unit;
    }
    return;
  }
  std::array<float, 16> of_code;
  if (type == ValueType::kInt2) {
    const float above = LoadHalfValue(bytes, 1) * factor;
    of_code[0] = unit;
    of_code[kAbove] = above;
    of_code[kNegative] = -unit;
    of_code[kNegative | kAbove] = -above;
  } else {
    for (unsigned code = 0; code < 16; ++code) {
      of_code[code] = static_cast<float>(LevelOf(code, 4)) * unit;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = of_code[CodeAt(codes, BitsOf(type), first + i)];
  }
}

}  // namespace weir
