#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compression/codec.h"
#include "compression/codec_compressor.h"
#include "compression/registry.h"
#include "compression/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Every entry in 8 bits: a float, the largest magnitude, then n signed bytes that count 127ths of
/// it.
class ByteCodec : public Codec {
 public:
  std::size_t MaxEncodedBytes(std::size_t n, double) const override { return sizeof(float) + n; }

  std::size_t Encode(const StepContext&, std::span<const float> values,
                     std::span<std::byte> payload) const override {
    float largest = 0.0f;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    std::memcpy(payload.data(), &largest, sizeof(largest));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float steps = largest == 0.0f ? 0.0f : std::round(values[i] / largest * 127.0f);
      payload[sizeof(float) + i] = static_cast<std::byte>(static_cast<std::int8_t>(steps));
    }
    return sizeof(float) + values.size();
  }

  void Check(std::span<const std::byte> payload, std::size_t n) const override {
    ReadScale(payload, n);
  }
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override {
    AddTimes(1.0f, payload, sum);
  }
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override {
    AddTimes(-1.0f, payload, rest);
  }

 private:
  static float ReadScale(std::span<const std::byte> payload, std::size_t n) {
    if (payload.size() != sizeof(float) + n) {
      throw Corrupt("byte array: length is " + std::to_string(payload.size()) + ", expected " +
                    std::to_string(sizeof(float) + n));
    }
    float largest = 0.0f;
    std::memcpy(&largest, payload.data(), sizeof(largest));
    if (!std::isfinite(largest) || largest < 0.0f) {
      throw Corrupt("byte array: the scale is " + std::to_string(largest));
    }
    return largest;
  }

  static void AddTimes(float sign, std::span<const std::byte> payload, std::span<float> out) {
    const float largest = ReadScale(payload, out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto steps = static_cast<std::int8_t>(payload[sizeof(float) + i]);
      out[i] += sign * (static_cast<float>(steps) / 127.0f * largest);
    }
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
