// Codecs on another rank's payload: Check, Merge and Subtract.
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "compression/codecs/cast.h"
#include "compression/codecs/int8.h"
#include "compression/codecs/onebit.h"
#include "compression/codecs/quantizer.h"
#include "compression/codecs/randomk.h"
#include "compression/codecs/topk.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 1500;

using Codecs = std::vector<std::unique_ptr<const Codec>>;

template <class T, class... Arguments>
void Add(Codecs& codecs, Arguments&&... arguments) {
  codecs.push_back(std::make_unique<const T>(std::forward<Arguments>(arguments)...));
}

const Codecs& AllCodecs() {
  static const Codecs codecs = [] {
    using Q = QuantizerCodec;
    const CounterRandom random(0, "w");
    Codecs list;
    Add<CastCodec>(list, DType::kFloat32);
    Add<CastCodec>(list, DType::kFloat16);
    Add<CastCodec>(list, DType::kBFloat16);
    Add<Int8Codec>(list);
    Add<OneBitCodec>(list, false);
    Add<OneBitCodec>(list, true);
    Add<TopKCodec>(list, 0u, ValueType::kFloat16);
    Add<TopKCodec>(list, 30u, ValueType::kFloat32);
    Add<TopKCodec>(list, 0u, ValueType::kInt8);
    Add<TopKCodec>(list, 0u, ValueType::kInt2);
    Add<RandomKCodec>(list, random, 0u, ValueType::kFloat16, false);
    Add<RandomKCodec>(list, random, 0u, ValueType::kInt4, false);
    Add<RandomKCodec>(list, random, 30u, ValueType::kFloat32, true);
    Add<Q>(list, random, Q::Rule{.levels = 7});
    Add<Q>(list, random, Q::Rule{.levels = 20, .spacing = Q::Spacing::kPowersOfTwo});
    Add<Q>(list, random, Q::Rule{.levels = 127, .scale = Q::Scale::kNorm});
    Add<Q>(list, random, Q::Rule{.levels = 3, .form = LevelForm::kPacked});
    return list;
  }();
  return codecs;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const Codec& codec = *AllCodecs()[input.Number(AllCodecs().size() - 1)];
  const std::size_t n = 1 + input.Number(kMostElements - 1);
  const auto payload = input.Rest();
  const bool accepted = Accepts<Corrupt>([&] { codec.Check(payload, n); });
  const std::vector<float> zeros(n);
  std::vector<float> sum = zeros;
  WEIR_CHECK(Accepts<Corrupt>([&] { codec.Merge(payload, sum); }) == accepted);
  std::vector<float> rest = zeros;
  WEIR_CHECK(Accepts<Corrupt>([&] { codec.Subtract(payload, rest); }) == accepted);
  WEIR_CHECK(accepted || (SameBits(sum, zeros) && SameBits(rest, zeros)));
  WEIR_CHECK(!accepted || payload.size() <= codec.MaxEncodedBytes(n, 1.0));
  for (std::size_t i = 0; i < n; ++i) {
    WEIR_CHECK(std::isfinite(sum[i]) && rest[i] == -sum[i]);
  }
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (std::size_t i = 0; i < AllCodecs().size(); ++i) {
    const Codec& codec = *AllCodecs()[i];
    for (const std::size_t n : {1u, 33u, 1000u}) {
      const auto values = test::RandomSample(n, n, random).values;
      Bytes payload(codec.MaxEncodedBytes(n, 0.1));
      payload.resize(codec.Encode({.density = 0.1}, values, payload));
      seeds.push_back(Seed({i, n - 1}, payload));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
