// The Rice code of a sparse part.
#include "compression/wire/rice.h"

#include <algorithm>
#include <random>

#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 65536;
constexpr std::size_t kMostIndices = 2000;

Bytes Encoded(std::span<const std::uint32_t> indices) {
  const RiceCode code = BestRiceCode(indices);
  Bytes bytes(code.bytes);
  EncodeRice(indices, code, bytes.data());
  return bytes;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t n = 1 + input.Number(kMostElements - 1);
  const std::size_t k = 1 + input.Number(std::min(n, kMostIndices) - 1);
  const auto received = input.Rest();
  std::vector<std::uint32_t> indices(k);
  if (!Accepts<Corrupt>([&] { DecodeRice(n, received, indices); })) return;
  for (std::size_t i = 0; i < k; ++i) {
    WEIR_CHECK(indices[i] < n && (i == 0 || indices[i - 1] < indices[i]));
  }
  WEIR_CHECK_MSG(std::ranges::equal(Encoded(indices), received), "each set has one spelling");
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {64, 64}, {1000, 1}, {1000, 30}, {1000, 400}, {60000, 60}, {60000, 700}}) {
    seeds.push_back(Seed({n - 1, k - 1}, Encoded(test::RandomSample(n, k, random).indices)));
  }
  return seeds;
}

}  // namespace weir::fuzz
