#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

/// Rules for both codes of ascending indices.
namespace weir::fuzz {

constexpr std::size_t kMostElements = 5000;

/// `Code` has Size(n, k), Encode(n, indices, out) and Decode(n, bytes, indices).
template <class Code>
void RunIndexCode(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t n = 1 + input.Number(kMostElements - 1);
  const std::size_t k = 1 + input.Number(n - 1);
  const Bytes received = input.Exactly(Code::Size(n, k));
  std::vector<std::uint32_t> indices(k);
  if (!Accepts<Corrupt>([&] { Code::Decode(n, received, indices); })) return;
  for (std::size_t i = 0; i < k; ++i) {
    WEIR_CHECK(indices[i] < n && (i == 0 || indices[i - 1] < indices[i]));
  }
  Bytes again(received.size());
  Code::Encode(n, indices, again.data());
  WEIR_CHECK_MSG(again == received, "each set has one spelling");
}

template <class Code>
std::vector<Bytes> IndexCodeSeeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {64, 64}, {1000, 1}, {1000, 30}, {1000, 400}, {4099, 700}}) {
    const test::SparseSample sample = test::RandomSample(n, k, random);
    Bytes encoded(Code::Size(n, k));
    Code::Encode(n, sample.indices, encoded.data());
    seeds.push_back(Seed({n - 1, k - 1}, encoded));
  }
  return seeds;
}

}  // namespace weir::fuzz
