// A dense part, as dgc sends small tensors.
#include <cmath>
#include <random>

#include "compression/sparse_payload.h"
#include "tests/compression/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 2000;

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t n = input.Number(kMostElements);
  const auto part = input.Rest();
  const bool accepted = Accepts<Corrupt>([&] { CheckDense(part, n); });
  // -0 keeps the sign of what is added to it.
  const std::vector<float> nothing(n, -0.0f);
  std::vector<float> sum = nothing;
  WEIR_CHECK(Accepts<Corrupt>([&] { MergeDense(part, sum); }) == accepted);
  if (!accepted) {
    WEIR_CHECK(SameBits(sum, nothing));
    return;
  }
  for (const float value : sum) WEIR_CHECK(std::isfinite(value));
  const auto type = static_cast<ValueType>(std::to_integer<unsigned>(part[0]) >> 4);
  std::vector<float> sent = sum;
  Bytes again(part.size());
  WEIR_CHECK(EncodeDense(sent, type, again) == part.size());
  WEIR_CHECK_MSG(SameBits(sent, sum), "sending on what was received loses nothing");
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const ValueType type : {ValueType::kFloat16, ValueType::kFloat32}) {
    for (const std::size_t n : {0u, 1u, 100u, 1000u}) {
      std::vector<float> values = test::RandomSample(n, n, random).values;
      Bytes encoded(DensePayloadBytes(n, type));
      EncodeDense(values, type, encoded);
      seeds.push_back(Seed({n}, encoded));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
