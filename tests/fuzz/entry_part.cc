// The entries of a piece of a tensor, as ranks send them to its owner and hear their sums.
#include "compression/wire/entry_part.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 3000;
/// Low-bit values are rounded again, so none are divided among owners.
constexpr std::array kTypes = {ValueType::kFloat16, ValueType::kFloat32};

Bytes Encoded(std::size_t n, const SparseEntries& entries, ValueType type) {
  Bytes part(MaxEntryPartBytes(n, type));
  part.resize(EncodeEntryPart(n, entries.indices, entries.values, type, part));
  return part;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t n = 1 + input.Number(kMostElements - 1);
  const ValueType type = kTypes[input.Number(kTypes.size() - 1)];
  const auto part = input.Rest();
  SparseEntries entries;
  if (!Accepts<Corrupt>([&] { entries = DecodeEntryPart(part, n, type); })) return;
  const auto& [indices, values] = entries;
  WEIR_CHECK(indices.size() == values.size() && indices.size() <= n);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    WEIR_CHECK(indices[i] < n && (i == 0 || indices[i - 1] < indices[i]));
    WEIR_CHECK(std::isfinite(values[i]));
  }
  if (part.empty()) return;  // A rank that has joined.
  WEIR_CHECK(part.size() <= MaxEntryPartBytes(n, type));
  const Bytes again = Encoded(n, entries, type);
  WEIR_CHECK_MSG(again.size() == part.size(), "no sender writes this");
  // fp16 may be written with another scale than the best one.
  WEIR_CHECK(type == ValueType::kFloat16 || std::ranges::equal(again, part));
  const SparseEntries same = DecodeEntryPart(again, n, type);
  WEIR_CHECK(same.indices == indices && SameBits(same.values, values));
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (std::size_t t = 0; t < kTypes.size(); ++t) {
    for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 1}, {100, 0}, {100, 100}, {1000, 10}, {1000, 400}, {3000, 2990}}) {
      const test::SparseSample sample = test::RandomSample(n, k, random);
      seeds.push_back(Seed({n - 1, t}, Encoded(n, {sample.indices, sample.values}, kTypes[t])));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
