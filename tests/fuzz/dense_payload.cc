// A dense part, as dgc sends small tensors.
#include <cmath>
#include <random>

#include "compression/wire/sparse_payload.h"
#include "tests/compression/wire/sparse_sample.h"
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
  // Most often the type that the part names, or nothing else would ever be reached.
  const std::size_t named = part.empty() ? 0 : std::to_integer<std::size_t>(part[0]) >> 4;
  const ValueType type = test::kAllValueTypes[named % std::size(test::kAllValueTypes)];
  const bool accepted = Accepts<Corrupt>([&] { CheckDense(part, n, type); });
  // -0 keeps the sign of what is added to it.
  const std::vector<float> nothing(n, -0.0f);
  std::vector<float> sum = nothing;
  WEIR_CHECK(Accepts<Corrupt>([&] { MergeDense(part, type, sum); }) == accepted);
  SparseEntries entries;
  WEIR_CHECK(Accepts<Corrupt>([&] { entries = DecodeDense(part, n, type); }) == accepted);
  if (!accepted) {
    WEIR_CHECK(SameBits(sum, nothing));
    return;
  }
  for (const float value : sum) WEIR_CHECK(std::isfinite(value));
  WEIR_CHECK(SameBits(entries.values, sum) && entries.indices.size() == n);
  for (std::size_t i = 0; i < n; ++i) WEIR_CHECK(entries.indices[i] == i);
  std::vector<float> sent = sum;
  Bytes again(part.size());
  WEIR_CHECK(EncodeDense(sent, type, again) == part.size());
  if (IsLowBit(type)) return;  // The rest, low_bit_values.cc says.
  WEIR_CHECK_MSG(SameBits(sent, sum), "sending on what was received loses nothing");
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const ValueType type : test::kAllValueTypes) {
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
