#include "compression/codecs/dithering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "common/byte_stream.h"
#include "common/check.h"
#include "compression/codec_compressor.h"
#include "compression/cpu/dither.h"
#include "compression/cpu/squared_norm.h"
#include "compression/registry.h"
#include "compression/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kHeader = sizeof(float);  // The scale.
constexpr float kLargestFloat = std::numeric_limits<float>::max();

std::unique_ptr<Compressor> Make(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "dithering");
  const CounterRandom random(static_cast<std::uint64_t>(options.Integer("seed")), tensor.name);
  const auto spacing = options.Choice("partition") == "natural" ? DitheringCodec::Spacing::kNatural
                                                                : DitheringCodec::Spacing::kLinear;
  const auto scale = options.Choice("normalize") == "l2" ? DitheringCodec::Scale::kNorm
                                                         : DitheringCodec::Scale::kLargest;
  return MakeCodecCompressor(std::make_unique<DitheringCodec>(
                                 random, static_cast<int>(options.Integer("k")), spacing, scale),
                             options, tensor);
}

const CompressorRegistration kDithering(
    {.name = "dithering",
     .summary = "Every entry, rounded at random to one of a few levels, right on average.",
     .options =
         JoinSpecs({FamilySpecs(),
                    SeedSpecs(),
                    {{"k", "7", IntegerRule{1, kMostLevels},
                      "Levels above 0; 1, 3, 7, 15, ... fill 2, 3, 4, 5, ... bits an entry."},
                     {"partition", "linear", ChoiceRule{{"linear", "natural"}},
                      "Levels evenly spaced, or powers of two."},
                     {"normalize", "max", ChoiceRule{{"max", "l2"}},
                      "The highest level is the largest |x|, or the L2 norm."}},
                    MemorySpecs(),
                    StepSpecs()}),
     .make = Make,
     .codec = CodecId::kDithering});

}  // namespace

DitheringCodec::DitheringCodec(CounterRandom random, int levels, Spacing spacing, Scale scale)
    : random_(random), levels_(levels), spacing_(spacing), scale_(scale) {
  WEIR_CHECK(levels >= 1 && levels <= kMostLevels);
}

std::size_t DitheringCodec::MaxEncodedBytes(std::size_t n, double) const {
  return kHeader + MaxLevelBytes(n, levels_);
}

float DitheringCodec::ScaleOf(std::span<const float> values) const {
  if (scale_ == Scale::kNorm) {
    return std::min(static_cast<float>(std::sqrt(cpu::SquaredNorm(values, 1.0f).sum)),
                    kLargestFloat);
  }
  return cpu::LargestMagnitude(values);
}

DitheringCodec::Table DitheringCodec::TableOf(float scale) const {
  Table table{};
  for (int level = 1; level <= levels_; ++level) {
    const double fraction = spacing_ == Spacing::kLinear ? static_cast<double>(level) / levels_
                                                         : std::ldexp(1.0, level - levels_);
    const auto value = static_cast<float>(fraction * static_cast<double>(scale));
    table[static_cast<std::size_t>(kMostLevels + level)] = value;
    table[static_cast<std::size_t>(kMostLevels - level)] = -value;
  }
  return table;
}

std::vector<std::int8_t> DitheringCodec::Round(const StepContext& context, float scale,
                                               std::span<const float> values) const {
  std::vector<std::int8_t> levels(values.size());
  if (scale == 0.0f) return levels;
  const cpu::DitherRule rule{
      .scale = scale, .levels = levels_, .natural = spacing_ == Spacing::kNatural};
  cpu::Dither(random_, context.step, rule, values, levels, context.pool);
  return levels;
}

std::size_t DitheringCodec::Write(float scale, std::span<const std::int8_t> levels,
                                  std::span<std::byte> payload) const {
  WEIR_CHECK(payload.size() >= MaxEncodedBytes(levels.size(), 1.0));
  StoreLittleEndian(payload.data(), scale);
  return kHeader + EncodeLevels(levels, levels_, payload.data() + kHeader);
}

std::size_t DitheringCodec::Encode(const StepContext& context, std::span<const float> values,
                                   std::span<std::byte> payload) const {
  const float scale = ScaleOf(values);
  return Write(scale, Round(context, scale, values), payload);
}

std::size_t DitheringCodec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                              std::span<std::byte> payload) const {
  const float scale = ScaleOf(rest);
  const auto levels = Round(context, scale, rest);
  const Table table = TableOf(scale);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= table[static_cast<std::size_t>(kMostLevels + levels[i])];
  }
  return Write(scale, levels, payload);
}

DitheringCodec::Decoded DitheringCodec::Read(std::span<const std::byte> payload,
                                             std::size_t n) const {
  if (payload.size() < kHeader) throw Corrupt("dithering part: there is no scale");
  const auto scale = LoadLittleEndian<float>(payload.data());
  if (!std::isfinite(scale) || std::signbit(scale)) {
    throw Corrupt("dithering part: the scale is " + std::to_string(scale) +
                  ", which no sender writes");
  }
  Decoded decoded{std::vector<std::int8_t>(n), TableOf(scale)};
  DecodeLevels(payload.subspan(kHeader), levels_, decoded.levels);
  return decoded;
}

void DitheringCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  Read(payload, n);
}

void DitheringCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  const auto [levels, table] = Read(payload, sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += table[static_cast<std::size_t>(kMostLevels + levels[i])];
  }
}

void DitheringCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  const auto [levels, table] = Read(payload, rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= table[static_cast<std::size_t>(kMostLevels + levels[i])];
  }
}

}  // namespace weir
