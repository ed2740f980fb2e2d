#include <cfloat>
#include <cmath>
#include <cstring>

#include "compression/codec_compressor.h"
#include "compression/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Every entry in 8 bits: a float, the largest magnitude, then n signed bytes that count 127ths.
class ByteCodec : public Codec {
 public:
  std::size_t MaxEncodedBytes(std::size_t n, double) const override { return sizeof(float) + n; }

  std::size_t Encode(const StepContext&, std::span<const float> values,
                     std::span<std::byte> payload) const override {
    float largest = FLT_MIN;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    std::memcpy(payload.data(), &largest, sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto count = static_cast<std::int8_t>(std::round(values[i] / largest * 127.0f));
      payload[sizeof(float) + i] = static_cast<std::byte>(count);
    }
    return sizeof(float) + values.size();
  }
  void Check(std::span<const std::byte> payload, std::size_t n) const override {
    if (payload.size() != sizeof(float) + n) throw Corrupt("byte array: its length is wrong");
    const float largest = LargestOf(payload);
    if (!std::isfinite(largest) || largest <= 0) throw Corrupt("byte array: its scale is wrong");
  }
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override {
    Check(payload, sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += Entry(payload, i);
  }
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override {
    Check(payload, rest.size());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= Entry(payload, i);
  }

 private:
  static float LargestOf(std::span<const std::byte> payload) {
    float largest = 0.0f;
    std::memcpy(&largest, payload.data(), sizeof(float));
    return largest;
  }
  static float Entry(std::span<const std::byte> payload, std::size_t i) {
    const auto count = static_cast<std::int8_t>(payload[sizeof(float) + i]);
    return static_cast<float>(count) / 127.0f * LargestOf(payload);
  }
};

const CompressorRegistration kRegistration(
    {.name = "byte",
     .summary = "Every entry, in 8 bits.",
     .options = JoinSpecs({CommonSpecs(), MemorySpecs(), StepSpecs()}),
     .make = [](const ParsedOptions& options, const TensorSpec& tensor) {
       return MakeCodecCompressor(std::make_unique<ByteCodec>(), options, tensor);
     }});

}  // namespace
}  // namespace weir
