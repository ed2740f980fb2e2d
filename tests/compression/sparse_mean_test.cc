#include "compression/sparse_mean.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "compression/wire/sparse_payload.h"
#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

namespace weir {
namespace {

using test::Encoded;
using test::RandomSample;

using Payloads = std::vector<std::vector<std::byte>>;

std::vector<std::span<const std::byte>> Views(const Payloads& payloads) {
  return {payloads.begin(), payloads.end()};
}

/// The result that MergeSparseMean must equal.
std::vector<float> Reference(const Payloads& payloads, std::size_t n, ValueType type) {
  std::vector<float> mean(n);
  for (const auto& payload : payloads) {
    if (!payload.empty()) MergeSparse(payload, {n, n, type}, mean);
  }
  for (float& value : mean) value /= static_cast<float>(payloads.size());
  return mean;
}

TEST(SparseMean, EqualsMergingEachAndDividingAll) {
  const unsigned seed = 21;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::size_t n : {1, 5, 4095, 4096, 4097, 50000}) {
    for (const double density : {0.0, 0.001, 0.1, 0.6, 1.0}) {
      for (const std::size_t ranks : {1, 2, 3, 7}) {
        const ValueType type = test::kAllValueTypes[(n + ranks) % 5];
        Payloads payloads;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const auto k = static_cast<std::size_t>(density * static_cast<double>(n));
          test::SparseSample sample = RandomSample(n, k, random);
          payloads.push_back(Encoded(sample, type));
        }
        if (ranks > 2) payloads[1].clear();
        std::vector<float> mean(n, 7.0f);
        MergeSparseMean(Views(payloads), {n, n, type}, mean);
        ASSERT_EQ(mean, Reference(payloads, n, type)) << n << " " << density << " " << ranks;
      }
    }
  }
}

TEST(SparseMean, ADamagedPayloadChangesNothing) {
  std::mt19937 random(22);
  test::SparseSample sample = RandomSample(100, 10, random);
  Payloads payloads(2, Encoded(sample, ValueType::kFloat32));
  payloads[1].pop_back();
  std::vector<float> mean(100, 7.0f);
  EXPECT_THROW(MergeSparseMean(Views(payloads), {100, 100, ValueType::kFloat32}, mean), Corrupt);
  EXPECT_EQ(mean, std::vector<float>(100, 7.0f));
}

}  // namespace
}  // namespace weir
