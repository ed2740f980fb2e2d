#include "compression/codecs/randomk.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/byte_stream.h"
#include "compression/codec_compressor.h"
#include "compression/codecs/random_indices.h"
#include "compression/dgc/dgc_math.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kCountAt = sizeof(std::int64_t);  // Behind the step.
constexpr std::size_t kHeaderBytes = kCountAt + sizeof(std::uint32_t);

std::int64_t StepOf(std::span<const std::byte> payload) {
  return LoadLittleEndian<std::int64_t>(payload.data());
}

/// Returns the values of a part that has been checked.
std::vector<float> ValuesOf(std::span<const std::byte> payload, std::size_t k, ValueType type) {
  std::vector<float> values(k);
  MergeDense(payload.subspan(kHeaderBytes), type, values);
  return values;
}

std::unique_ptr<Compressor> MakeRandomK(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "randomk");
  const bool unbiased = options.Flag("unbiased");
  if (unbiased && options.Choice("ef") != "none") {
    options.Refuse("unbiased",
                   "sends more than there is, so that error feedback would grow without "
                   "end; leave one of them out");
  }
  return MakeCodecCompressor(
      std::make_unique<RandomKCodec>(RandomOf(options, tensor), FixedCountOf(options),
                                     ValueTypeOf(options), unbiased),
      options, tensor);
}

const CompressorRegistration kRandomK(
    {.name = "randomk",
     .summary = "k random entries of each tensor, the same ones on every rank: no index travels.",
     .options = JoinSpecs({FamilySpecs(),
                           CountSpecs(),
                           SeedSpecs(),
                           {{"unbiased", "false", FlagRule{},
                             "Multiplies values by n / k, so that they are right on average."}},
                           SelectionSpecs(),
                           ValueSpecs(),
                           WarmupSpecs(),
                           MemorySpecs(),
                           StepSpecs()}),
     .make = MakeRandomK,
     .codec = CodecId::kRandomK,
     .caution = [](const ParsedOptions& options) {
       return options.Flag("unbiased") ? "" : CautionOfLoss(options);
     }});

}  // namespace

RandomKCodec::RandomKCodec(CounterRandom random, std::size_t fixed_count, ValueType values,
                           bool unbiased)
    : random_(random), fixed_count_(fixed_count), values_(values), unbiased_(unbiased) {}

std::optional<GpuCodecRule> RandomKCodec::gpu_rule() const {
  if (IsLowBit(values_)) return std::nullopt;
  return GpuCodecRule{.codec = GpuCodecRule::Codec::kRandomK,
                      .fixed_count = fixed_count_,
                      .values = values_,
                      .unbiased = unbiased_,
                      .key = random_.key()};
}

std::size_t RandomKCodec::MaxEncodedBytes(std::size_t n, double density) const {
  return kHeaderBytes + DensePayloadBytes(EntriesToSend(n, density, fixed_count_), values_);
}

std::size_t RandomKCodec::Encode(const StepContext& context, std::span<const float> values,
                                 std::span<std::byte> payload) const {
  Draw draw = DrawFrom(context, values);
  return Write(context, draw, payload);
}

std::size_t RandomKCodec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                            std::span<std::byte> payload) const {
  Draw draw = DrawFrom(context, rest);
  const std::size_t size = Write(context, draw, payload);
  for (std::size_t i = 0; i < draw.indices.size(); ++i) rest[draw.indices[i]] -= draw.values[i];
  return size;
}

RandomKCodec::Draw RandomKCodec::DrawFrom(const StepContext& context,
                                          std::span<const float> values) const {
  const std::size_t k = EntriesToSend(values.size(), context.density, fixed_count_);
  Draw draw{RandomIndices(random_, context.step, values.size(), k), {}};
  const float factor =
      unbiased_ && k > 0 ? static_cast<float>(values.size()) / static_cast<float>(k) : 1.0f;
  draw.values.reserve(k);
  for (const std::uint32_t index : draw.indices) draw.values.push_back(factor * values[index]);
  return draw;
}

std::size_t RandomKCodec::Write(const StepContext& context, Draw& draw,
                                std::span<std::byte> payload) const {
  StoreLittleEndian(payload.data(), context.step);
  StoreLittleEndian(payload.data() + kCountAt, static_cast<std::uint32_t>(draw.values.size()));
  return kHeaderBytes + EncodeDense(draw.values, values_, payload.subspan(kHeaderBytes));
}

std::size_t RandomKCodec::CheckedCount(std::span<const std::byte> payload, std::size_t n) const {
  if (payload.size() < kHeaderBytes) {
    throw Corrupt("random-k part: length is " + std::to_string(payload.size()) +
                  ", expected at least " + std::to_string(kHeaderBytes));
  }
  const std::size_t k = LoadLittleEndian<std::uint32_t>(payload.data() + kCountAt);
  if (fixed_count_ == 0 ? k > n : k != std::min(n, fixed_count_)) {
    throw Corrupt("random-k part: it has " + std::to_string(k) + " of " + std::to_string(n) +
                  " entries, which no sender writes");
  }
  CheckDense(payload.subspan(kHeaderBytes), k, values_);
  return k;
}

void RandomKCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  CheckedCount(payload, n);
}

void RandomKCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  const Draw draw = Read(payload, sum.size());
  for (std::size_t i = 0; i < draw.indices.size(); ++i) sum[draw.indices[i]] += draw.values[i];
}

void RandomKCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  const Draw draw = Read(payload, rest.size());
  for (std::size_t i = 0; i < draw.indices.size(); ++i) rest[draw.indices[i]] -= draw.values[i];
}

RandomKCodec::Draw RandomKCodec::Read(std::span<const std::byte> payload, std::size_t n) const {
  const std::size_t k = CheckedCount(payload, n);
  return {RandomIndices(random_, StepOf(payload), n, k), ValuesOf(payload, k, values_)};
}

void RandomKCodec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                             std::span<float> mean) const {
  // All ranks of a step have drawn the same places: sum first, spread once.
  std::optional<Draw> sum;
  std::int64_t step = 0;
  for (const auto& payload : payloads) {
    if (payload.empty()) continue;
    const std::size_t k = CheckedCount(payload, mean.size());
    if (!sum) {
      step = StepOf(payload);
      sum = Draw{RandomIndices(random_, step, mean.size(), k), std::vector<float>(k)};
    }
    if (StepOf(payload) != step || k != sum->values.size()) return Codec::MergeMean(payloads, mean);
    MergeDense(payload.subspan(kHeaderBytes), values_, sum->values);
  }
  std::ranges::fill(mean, 0.0f);
  if (!sum) return;
  const auto ranks = static_cast<float>(payloads.size());
  for (std::size_t i = 0; i < sum->indices.size(); ++i) {
    mean[sum->indices[i]] = sum->values[i] / ranks;
  }
}

}  // namespace weir
