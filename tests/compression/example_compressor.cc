#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/byte_stream.h"
#include "compression/codec_compressor.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Every entry in 8 bits: a scale, then n signed bytes that count it; 127 is the largest magnitude.
class ByteCodec : public Codec {
 public:
  std::size_t MaxEncodedBytes(std::size_t n, double) const override { return sizeof(float) + n; }

  std::size_t Encode(const StepContext&, std::span<const float> values,
                     std::span<std::byte> payload) const override {
    float scale = FLT_MIN;
    for (const float value : values) scale = std::max(scale, std::fabs(value) / 127.0f);
    StoreLittleEndian(payload.data(), scale);
    for (std::size_t i = 0; i < values.size(); ++i) {
      payload[sizeof(float) + i] = static_cast<std::byte>(std::lround(values[i] / scale));
    }
    return sizeof(float) + values.size();
  }
  void Check(std::span<const std::byte> payload, std::size_t n) const override {
    if (payload.size() != sizeof(float) + n) throw Corrupt("byte array: its length is wrong");
    const float largest = 127.0f * Scale(payload);
    const bool low = std::ranges::count(payload.subspan(sizeof(float)), std::byte{0x80}) > 0;
    if (low || !std::isfinite(largest) || largest <= 0) throw Corrupt("byte array: out of range");
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
  static float Scale(std::span<const std::byte> payload) {
    return LoadLittleEndian<float>(payload.data());
  }
  static float Entry(std::span<const std::byte> payload, std::size_t i) {
    return Scale(payload) * static_cast<std::int8_t>(payload[sizeof(float) + i]);
  }
};

const CompressorRegistration kRegistration({.name = "byte",
                                            .summary = "Every entry, in 8 bits.",
                                            .options = JoinSpecs({CommonSpecs(), MemorySpecs(),
                                                                  StepSpecs()}),
                                            .make = MakeAround<ByteCodec>});

}  // namespace
}  // namespace weir
