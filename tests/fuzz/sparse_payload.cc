// A sparse part, as dgc, topk and threshold send it.
#include "compression/wire/sparse_payload.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kMostElements = 5000;
constexpr float kBefore = 0.25f;

/// A part that CheckSparse refuses changes nothing; an accepted one changes the entries it names.
void CheckMerging(std::span<const std::byte> part, const SparseForm& form,
                  const SparseEntries* entries) {
  const std::size_t n = form.n;
  std::vector<float> expected(n, kBefore);
  for (std::size_t i = 0; entries != nullptr && i < entries->indices.size(); ++i) {
    expected[entries->indices[i]] += entries->values[i];
  }
  std::vector<float> sum(n, kBefore);
  WEIR_CHECK(Accepts<Corrupt>([&] { MergeSparse(part, form, sum); }) == (entries != nullptr));
  WEIR_CHECK(SameBits(sum, expected));

  expected.assign(n, kBefore);
  for (std::size_t i = 0; entries != nullptr && i < entries->indices.size(); ++i) {
    expected[entries->indices[i]] -= entries->values[i];
  }
  std::vector<float> rest(n, kBefore);
  WEIR_CHECK(Accepts<Corrupt>([&] { SubtractSparse(part, form, rest); }) == (entries != nullptr));
  WEIR_CHECK(SameBits(rest, expected));
}

void CheckEntries(std::span<const std::byte> part, const SparseForm& form,
                  const SparseEntries& entries) {
  const auto& [n, max_k, type] = form;
  const auto& [indices, values] = entries;
  const std::size_t k = indices.size();
  WEIR_CHECK(k <= max_k && values.size() == k);
  for (std::size_t i = 0; i < k; ++i) {
    WEIR_CHECK(indices[i] < n && (i == 0 || indices[i - 1] < indices[i]));
    WEIR_CHECK(std::isfinite(values[i]));
  }
  WEIR_CHECK(part.size() <= SparsePayloadBytes(n, k, type));
  std::vector<float> sent = values;
  Bytes again(SparsePayloadBytes(n, k, type));
  again.resize(EncodeSparse(n, indices, sent, type, again));
  WEIR_CHECK(again.size() <= part.size());
  if (IsLowBit(type)) return;  // The rest, low_bit_values.cc says.
  WEIR_CHECK(again.size() == part.size());
  WEIR_CHECK_MSG(SameBits(sent, values), "sending on what was received loses nothing");
  // fp16 may be written with another scale than the best one.
  WEIR_CHECK(type == ValueType::kFloat16 || std::ranges::equal(again, part));
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t n = 1 + input.Number(kMostElements - 1);
  const std::size_t max_k = input.Number(n);
  const auto part = input.Rest();
  // Most often the type that the part names, or nothing else would ever be reached.
  const std::size_t named = part.empty() ? 0 : std::to_integer<std::size_t>(part[0]) >> 4;
  const SparseForm form{n, max_k, test::kAllValueTypes[named % std::size(test::kAllValueTypes)]};
  const bool accepted = Accepts<Corrupt>([&] { CheckSparse(part, form); });
  SparseEntries entries;
  WEIR_CHECK(Accepts<Corrupt>([&] { entries = DecodeSparse(part, form); }) == accepted);
  if (accepted) CheckEntries(part, form, entries);
  CheckMerging(part, form, accepted ? &entries : nullptr);
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (const ValueType type : test::kAllValueTypes) {
    for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 1}, {100, 0}, {1000, 10}, {1000, 400}, {4000, 700}}) {
      test::SparseSample sample = test::RandomSample(n, k, random);
      seeds.push_back(Seed({n - 1, k}, test::Encoded(sample, type)));
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
