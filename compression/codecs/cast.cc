#include "compression/codecs/cast.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/half_array.h"
#include "compression/codec_compressor.h"
#include "compression/codecs/cast_math.h"
#include "compression/options/alternatives.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kBlock = 512;  // Values converted at a time, in the first-level cache.

void NarrowBlock(DType dtype, std::span<const float> values, std::span<std::uint16_t> out) {
  std::array<float, kBlock> clamped;
  const float limit = dtype == DType::kFloat16 ? kLargestHalf : kLargestBFloat16;
  for (std::size_t i = 0; i < values.size(); ++i) clamped[i] = std::clamp(values[i], -limit, limit);
  const auto block = std::span<const float>(clamped).first(values.size());
  dtype == DType::kFloat16 ? FloatsToHalves(block, out) : FloatsToBFloat16s(block, out);
}

/// Calls use(first, floats) for blocks of the decoded payload.
template <class Use>
void ForEachBlock(DType dtype, std::span<const std::byte> payload, Use use) {
  const std::size_t width = SizeOf(dtype);
  const std::size_t n = payload.size() / width;
  std::array<float, kBlock> floats;
  std::array<std::uint16_t, kBlock> narrow;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t count = std::min(kBlock, n - first);
    const std::byte* from = payload.data() + first * width;
    const std::span<float> block = std::span(floats).first(count);
    if (dtype == DType::kFloat32) {
      std::memcpy(block.data(), from, count * width);
    } else {
      std::memcpy(narrow.data(), from, count * width);
      const auto halves = std::span<const std::uint16_t>(narrow).first(count);
      dtype == DType::kFloat16 ? HalvesToFloats(halves, block) : BFloat16sToFloats(halves, block);
    }
    use(first, std::span<const float>(block));
  }
}

CompressorInfo InfoOf(std::string name, std::string summary, DType dtype, CodecId id,
                      const std::vector<OptionSpec>& more = {}) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .options = JoinSpecs({ArrayRouteSpecs(), MemorySpecs(), StepSpecs(), more}),
          .make =
              [dtype](const ParsedOptions& options, const TensorSpec& tensor) {
                return MakeCodecCompressor(std::make_unique<CastCodec>(dtype), options, tensor);
              },
          .codec = id};
}

const CompressorRegistration kDense(InfoOf("dense", "Every entry, as fp32.", DType::kFloat32,
                                           CodecId::kDense, AlternativeSpecs({"fp16", "int8"})));
const CompressorRegistration kHalf(InfoOf("fp16", "Every entry, cast to fp16.", DType::kFloat16,
                                          CodecId::kFloat16, AlternativeSpecs({"dense", "int8"})));
const CompressorRegistration kBFloat16(InfoOf("bf16", "Every entry, cast to bfloat16.",
                                              DType::kBFloat16, CodecId::kBFloat16,
                                              AlternativeSpecs({"dense"})));

}  // namespace

CastCodec::CastCodec(DType dtype) : dtype_(dtype) {
  WEIR_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16);
}

std::size_t CastCodec::MaxEncodedBytes(std::size_t n, double) const { return n * SizeOf(dtype_); }

std::size_t CastCodec::Encode(const StepContext&, std::span<const float> values,
                              std::span<std::byte> payload) const {
  const std::size_t size = values.size() * SizeOf(dtype_);
  WEIR_CHECK(payload.size() >= size);
  if (dtype_ == DType::kFloat32) {
    if (size != 0) std::memcpy(payload.data(), values.data(), size);
    return size;
  }
  std::array<std::uint16_t, kBlock> narrow;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, values.size() - first);
    NarrowBlock(dtype_, values.subspan(first, count), std::span(narrow).first(count));
    std::memcpy(payload.data() + 2 * first, narrow.data(), 2 * count);
  }
  return size;
}

void CastCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  if (payload.size() != n * SizeOf(dtype_)) {
    throw Corrupt(std::string(Name(dtype_)) + " array: length is " +
                  std::to_string(payload.size()) + ", expected " +
                  std::to_string(n * SizeOf(dtype_)));
  }
  if (!AllFinite(payload, dtype_)) {
    throw Corrupt(std::string(Name(dtype_)) +
                  " array: a value is inf or NaN, which no sender writes");
  }
}

void CastCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  Check(payload, sum.size());
  ForEachBlock(dtype_, payload, [sum](std::size_t first, std::span<const float> block) {
    for (std::size_t i = 0; i < block.size(); ++i) sum[first + i] += block[i];
  });
}

std::optional<ValueType> CastCodec::entry_values() const {
  if (dtype_ != DType::kFloat32) return std::nullopt;
  return ValueType::kFloat32;
}

SparseEntries CastCodec::Entries(std::span<const std::byte> payload, std::size_t n) const {
  std::vector<float> values(n);
  Merge(payload, values);
  return EntriesOfAll(std::move(values));
}

void CastCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  Check(payload, rest.size());
  ForEachBlock(dtype_, payload, [rest](std::size_t first, std::span<const float> block) {
    for (std::size_t i = 0; i < block.size(); ++i) rest[first + i] -= block[i];
  });
}

}  // namespace weir
