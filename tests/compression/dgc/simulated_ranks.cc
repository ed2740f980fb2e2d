#include "tests/compression/dgc/simulated_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace weir {

SimulatedRanks::SimulatedRanks(std::size_t ranks, std::size_t n, const Make& make)
    : n_(n), payloads_(ranks) {
  for (std::size_t r = 0; r < ranks; ++r) compressors_.push_back(make());
}

std::vector<float> SimulatedRanks::Step(const StepContext& context,
                                        const std::vector<std::vector<float>>& gradients) {
  if (!context.dense_phase) Compress(context, gradients);
  std::vector<float> first;
  for (std::size_t receiver = 0; receiver < ranks(); ++receiver) {
    std::vector<float> sum(n_);
    for (std::size_t sender = 0; sender < ranks(); ++sender) {
      if (context.dense_phase) {
        for (std::size_t i = 0; i < n_; ++i) {
          sum[i] += gradients[sender][i] * context.gradient_scale;
        }
      } else {
        compressors_[receiver]->Merge(payloads_[sender], sum);
      }
    }
    for (float& x : sum) x /= static_cast<float>(ranks());
    compressors_[receiver]->Finish(context, sum);
    if (receiver == 0) first = sum;
    EXPECT_EQ(BitsOf(sum), BitsOf(first)) << "rank " << receiver << " differs from rank 0";
  }
  return first;
}

void SimulatedRanks::Compress(const StepContext& context,
                              const std::vector<std::vector<float>>& gradients) {
  for (std::size_t r = 0; r < ranks(); ++r) {
    payloads_[r].resize(compressors_[r]->MaxEncodedBytes(context.density));
    payloads_[r].resize(compressors_[r]->Encode(context, gradients[r], payloads_[r]));
  }
}

std::vector<std::vector<float>> NormalGradients(std::size_t ranks, std::size_t n,
                                                std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> gradients(ranks, std::vector<float>(n));
  for (auto& gradient : gradients) {
    for (float& x : gradient) x = normal(random);
  }
  return gradients;
}

std::vector<std::uint32_t> BitsOf(std::span<const float> values) {
  std::vector<std::uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(),
                         [](float x) { return std::bit_cast<std::uint32_t>(x); });
  return bits;
}

std::vector<std::vector<float>> CopyState(Compressor& compressor) {
  std::vector<std::vector<float>> copy;
  for (const auto& array : compressor.State()) {
    copy.emplace_back(array.values.begin(), array.values.end());
  }
  return copy;
}

void LoadState(const std::vector<std::vector<float>>& state, Compressor& compressor) {
  const auto arrays = compressor.State();
  ASSERT_EQ(arrays.size(), state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::ranges::copy(state[i], arrays[i].values.begin());
  }
  compressor.Restored();
}

std::span<float> StateOf(Compressor& compressor, const std::string& name) {
  for (const auto& array : compressor.State()) {
    if (array.name == name) return array.values;
  }
  ADD_FAILURE() << "no state array " << name;
  return {};
}

}  // namespace weir
