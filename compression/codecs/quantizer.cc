#include "compression/codecs/quantizer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/byte_stream.h"
#include "common/check.h"
#include "compression/codecs/level_math.h"
#include "compression/cpu/dither.h"
#include "compression/cpu/squared_norm.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kScaleBytes = sizeof(float);  // The scale.

/// Index of a level in a table that begins with -kMostLevels.
std::size_t PlaceOf(int level) {
  const int place = level + kMostLevels;
  return static_cast<std::size_t>(place);
}

}  // namespace

QuantizerCodec::QuantizerCodec(CounterRandom random, const Rule& rule)
    : random_(random), rule_(rule) {
  WEIR_CHECK(rule.levels >= 1 && rule.levels <= kMostLevels);
}

std::size_t QuantizerCodec::MaxEncodedBytes(std::size_t n, double) const {
  return kScaleBytes + MaxLevelBytes(n, rule_.levels, rule_.form);
}

std::optional<GpuCodecRule> QuantizerCodec::gpu_rule() const {
  return GpuCodecRule{.codec = GpuCodecRule::Codec::kLevels, .levels = rule_, .key = random_.key()};
}

std::size_t QuantizerCodec::EncodedBytes(const Rule& rule, std::size_t n,
                                         std::span<const std::byte> room) {
  return kScaleBytes + WrittenLevelBytes(room.subspan(kScaleBytes), n, rule.levels, rule.form);
}

float QuantizerCodec::ScaleOf(std::span<const float> values) const {
  const bool needs_squares = rule_.scale != Scale::kLargest;
  const bool needs_largest = rule_.scale != Scale::kNorm;
  return LevelScale(rule_, values.size(), needs_largest ? cpu::LargestMagnitude(values) : 0.0f,
                    needs_squares ? cpu::SquaredNorm(values, 1.0f).sum : 0.0,
                    [](double x) { return std::sqrt(x); });
}

QuantizerCodec::Table QuantizerCodec::TableOf(float scale) const {
  Table table{};
  for (int level = -rule_.levels; level <= rule_.levels; ++level) {
    table[PlaceOf(level)] = LevelValue(rule_, scale, level);
  }
  return table;
}

std::vector<std::int8_t> QuantizerCodec::Round(const StepContext& context, float scale,
                                               std::span<const float> values) const {
  std::vector<std::int8_t> levels(values.size());
  if (scale == 0.0f) return levels;
  const cpu::DitherRule rule{.scale = scale,
                             .levels = rule_.levels,
                             .natural = rule_.spacing == Spacing::kPowersOfTwo,
                             .nearest = rule_.rounding == Rounding::kNearest};
  cpu::Dither({random_, context.step, context.rank}, rule, values, levels, context.pool);
  return levels;
}

std::size_t QuantizerCodec::Write(float scale, std::span<const std::int8_t> levels,
                                  std::span<std::byte> payload) const {
  WEIR_CHECK(payload.size() >= MaxEncodedBytes(levels.size(), 1.0));
  StoreLittleEndian(payload.data(), scale);
  return kScaleBytes + EncodeLevels(levels, rule_.levels, rule_.form, payload.data() + kScaleBytes);
}

std::size_t QuantizerCodec::Encode(const StepContext& context, std::span<const float> values,
                                   std::span<std::byte> payload) const {
  const float scale = ScaleOf(values);
  return Write(scale, Round(context, scale, values), payload);
}

std::size_t QuantizerCodec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                              std::span<std::byte> payload) const {
  const float scale = ScaleOf(rest);
  const auto levels = Round(context, scale, rest);
  const Table table = TableOf(scale);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= table[PlaceOf(levels[i])];
  }
  return Write(scale, levels, payload);
}

QuantizerCodec::Decoded QuantizerCodec::Read(std::span<const std::byte> payload,
                                             std::size_t n) const {
  if (payload.size() < kScaleBytes) throw Corrupt("level part: there is no scale");
  const auto scale = LoadLittleEndian<float>(payload.data());
  if (!std::isfinite(scale) || std::signbit(scale)) {
    throw Corrupt("level part: the scale is " + std::to_string(scale) + ", which no sender writes");
  }
  Decoded decoded{std::vector<std::int8_t>(n), TableOf(scale)};
  DecodeLevels(payload.subspan(kScaleBytes), rule_.levels, rule_.form, decoded.levels);
  const auto is_zero = [](std::int8_t level) { return level == 0; };
  if (scale == 0.0f && !std::ranges::all_of(decoded.levels, is_zero)) {
    throw Corrupt("level part: there are levels of a scale of 0");
  }
  return decoded;
}

void QuantizerCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  Read(payload, n);
}

void QuantizerCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  const auto [levels, table] = Read(payload, sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += table[PlaceOf(levels[i])];
  }
}

void QuantizerCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  const auto [levels, table] = Read(payload, rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= table[PlaceOf(levels[i])];
  }
}

}  // namespace weir
