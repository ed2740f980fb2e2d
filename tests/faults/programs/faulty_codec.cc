#include <cstring>

#include "compression/codec_compressor.h"
#include "compression/options/standard_options.h"
#include "tests/faults/programs/faults.h"
#include "weir/error.h"

namespace weir::faults {
namespace {

/// Every entry as it is, at whose compression and merging faults may come.
class FaultyCodec : public Codec {
 public:
  std::size_t MaxEncodedBytes(std::size_t n, double) const override { return n * sizeof(float); }

  std::size_t Encode(const StepContext&, std::span<const float> values,
                     std::span<std::byte> payload) const override {
    Current()->At("compress");
    std::memcpy(payload.data(), values.data(), values.size_bytes());
    return values.size_bytes();
  }
  void Check(std::span<const std::byte> payload, std::size_t n) const override {
    if (payload.size() != n * sizeof(float)) throw Corrupt("faulty array: its length is wrong");
  }
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override {
    Check(payload, sum.size());
    Current()->At("merge");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += Entry(payload, i);
  }
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override {
    Check(payload, rest.size());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= Entry(payload, i);
  }

 private:
  static float Entry(std::span<const std::byte> payload, std::size_t i) {
    float value = 0.0f;
    std::memcpy(&value, payload.data() + i * sizeof(float), sizeof value);
    return value;
  }
};

const CompressorRegistration kRegistration({.name = "faulty",
                                            .summary = "Every entry as it is.",
                                            .options = JoinSpecs({CommonSpecs(), MemorySpecs(),
                                                                  StepSpecs()}),
                                            .make = MakeAround<FaultyCodec>});

}  // namespace
}  // namespace weir::faults
