#include "compression/codecs/onebit.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/check.h"
#include "compression/codec_compressor.h"
#include "compression/cpu/sign_bits.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kMagnitudeBytes = sizeof(float);  // The magnitude.

std::size_t EncodedBytes(std::size_t n) {
  return kMagnitudeBytes + cpu::SignWords(n) * sizeof(std::uint32_t);
}

cpu::ScaledSigns Read(std::span<const std::byte> payload) {
  cpu::ScaledSigns signs{.words = payload.data() + kMagnitudeBytes};
  std::memcpy(&signs.magnitude, payload.data(), kMagnitudeBytes);
  return signs;
}

std::string CautionOfSigns(const ParsedOptions& options) {
  if (options.Given("scaling")) return {};
  return "every entry that onebit sends is -1 or 1, however small the gradients are: give "
         "scaling=true, or a learning rate for signs";
}

const CompressorRegistration kOneBit(
    {.name = "onebit",
     .summary = "The sign of each entry, and one magnitude for a tensor: 32 entries in 4 bytes.",
     .options = JoinSpecs({FamilySpecs(),
                           {{"scaling", "false", FlagRule{},
                             "Uses the mean magnitude of the entries instead of 1."}},
                           MemorySpecs(),
                           StepSpecs()}),
     .make =
         [](const ParsedOptions& options, const TensorSpec& tensor) {
           return MakeCodecCompressor(std::make_unique<OneBitCodec>(options.Flag("scaling")),
                                      options, tensor);
         },
     .codec = CodecId::kOneBit,
     .caution = CautionOfSigns});

}  // namespace

std::size_t OneBitCodec::MaxEncodedBytes(std::size_t n, double) const { return EncodedBytes(n); }

std::size_t OneBitCodec::Encode(const StepContext& context, std::span<const float> values,
                                std::span<std::byte> payload) const {
  WEIR_CHECK(payload.size() >= EncodedBytes(values.size()));
  const double sum = cpu::PackSigns(values, payload.data() + kMagnitudeBytes, context.pool);
  return WriteMagnitude(sum, values.size(), payload);
}

Codec::Fed OneBitCodec::EncodeWithFeedback(const StepContext& context, const ErrorStep& step,
                                           std::span<float> error,
                                           std::span<std::byte> payload) const {
  WEIR_CHECK(payload.size() >= EncodedBytes(error.size()));
  const auto [sum, non_finite] =
      cpu::TakeAndPackSigns(step, error, payload.data() + kMagnitudeBytes, context.pool);
  const std::size_t bytes = WriteMagnitude(sum, error.size(), payload);
  Subtract(payload.first(bytes), error);
  return {bytes, non_finite};
}

std::size_t OneBitCodec::WriteMagnitude(double sum, std::size_t n,
                                        std::span<std::byte> payload) const {
  const float magnitude =
      scaled_ && n > 0 ? static_cast<float>(sum / static_cast<double>(n)) : 1.0f;
  std::memcpy(payload.data(), &magnitude, kMagnitudeBytes);
  return EncodedBytes(n);
}

void OneBitCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  if (payload.size() != EncodedBytes(n)) {
    throw Corrupt("one-bit part: length is " + std::to_string(payload.size()) + ", expected " +
                  std::to_string(EncodedBytes(n)));
  }
  const float magnitude = Read(payload).magnitude;
  if (!std::isfinite(magnitude) || std::signbit(magnitude) || (!scaled_ && magnitude != 1.0f)) {
    throw Corrupt("one-bit part: the magnitude is " + std::to_string(magnitude) +
                  ", which no sender writes");
  }
  if (n % 32 == 0) return;
  std::uint32_t last = 0;
  std::memcpy(&last, payload.data() + payload.size() - sizeof last, sizeof last);
  if (last >> n % 32 != 0) throw Corrupt("one-bit part: there are signs after the last entry");
}

void OneBitCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  Check(payload, sum.size());
  cpu::AddSigns(Read(payload), sum);
}

void OneBitCodec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                            std::span<float> mean) const {
  std::vector<cpu::ScaledSigns> parts;
  for (const auto& payload : payloads) {
    if (payload.empty()) continue;
    Check(payload, mean.size());
    parts.push_back(Read(payload));
  }
  cpu::MeanOfSigns(parts, payloads.size(), mean);
}

void OneBitCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  Check(payload, rest.size());
  cpu::ScaledSigns signs = Read(payload);
  signs.magnitude = -signs.magnitude;
  cpu::AddSigns(signs, rest);
}

}  // namespace weir
