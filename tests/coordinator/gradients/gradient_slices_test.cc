// Gradients of a bucket whose entries are selected together (selection=bucket).
#include "coordinator/gradients/gradient_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"

namespace weir::gradient_slices_test {
namespace {

constexpr std::size_t kElements = 2000;
constexpr double kDensity = 0.01;

/// Two matrices and a bias between them. The first matrix has the large gradients.
class Bucket {
 public:
  explicit Bucket(float scale = 1.0f) {
    step_.density = kDensity;
    step_.contexts.push_back({.density = kDensity, .gradient_scale = scale});
    std::vector<GradientSlice> slices;
    for (std::size_t t = 0; t < 3; ++t) {
      const Shape shape = t == 1 ? Shape{7} : Shape{40, kElements / 40};
      compressors_.push_back(MakeCompressor({{"compressor", "dgc"},
                                             {"momentum", "none"},
                                             {"values", "fp32"},
                                             {"selection", "bucket"}},
                                            {"t" + std::to_string(t), shape}));
      gradients_.emplace_back(static_cast<std::size_t>(shape.elements()));
      for (std::size_t i = 0; i < gradients_[t].size(); ++i) {
        gradients_[t][i] = (t == 0 ? 100.0f : 1.0f) * std::sin(static_cast<float>(i * i + 1));
      }
      GradientSlice slice;
      slice.elements = gradients_[t].size();
      slice.gradient = gradients_[t].data();
      slice.Use(*compressors_[t]);
      slices.push_back(std::move(slice));
    }
    slices_ = std::make_unique<GradientSlices>("bucket", 0, std::move(slices), step_);
  }

  GradientSlices& operator*() { return *slices_; }
  const std::vector<float>& gradient(std::size_t t) const { return gradients_[t]; }
  std::span<float> kept(std::size_t t) { return compressors_[t]->State().back().values; }

  SparseEntries Encode(std::size_t t, bool staged = false) {
    const GradientSlice& slice = slices_->all()[t];
    std::vector<std::byte> payload(slices_->MaxEncodedBytes(slice, kDensity));
    payload.resize(staged ? slices_->EncodeStaged(slice, payload)
                          : slices_->Encode(slice, payload));
    return slice.compression->Entries(payload);
  }

 private:
  GroupStep step_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<std::vector<float>> gradients_;
  std::unique_ptr<GradientSlices> slices_;
};

TEST(GradientSlices, EntriesOfATensorThatAreSmallWaitForThoseOfAnother) {
  Bucket bucket;
  EXPECT_EQ(bucket.Encode(0).indices.size(), 39u);  // 20 for each, of which the other has one.
  EXPECT_EQ(bucket.Encode(1).indices.size(), 7u);   // Travels dense, whatever is selected.
  EXPECT_EQ(bucket.Encode(2).indices.size(), 1u);
}

TEST(GradientSlices, TheirFramesAreNoLargerThanThoseOfSelectionsApart) {
  Bucket bucket;
  std::size_t apart = 0;
  std::size_t together_one_by_one = 0;
  for (const GradientSlice& slice : (*bucket).all()) {
    apart += slice.compression->MaxEncodedBytes(kDensity);
    together_one_by_one += (*bucket).MaxEncodedBytes(slice, kDensity);
  }
  EXPECT_LE((*bucket).MaxEncodedBytes(kDensity), apart + 20);
  EXPECT_LT((*bucket).MaxEncodedBytes(kDensity), together_one_by_one);
}

TEST(GradientSlices, RevertKeepsTheGradientsOfAllAndSendsNone) {
  for (const std::size_t encoded : {1, 2, 3}) {  // How far it came.
    Bucket bucket;
    for (std::size_t t = 0; t < encoded; ++t) bucket.Encode(t);
    (*bucket).Revert();
    for (const std::size_t t : {0, 2}) {
      EXPECT_TRUE(std::ranges::equal(bucket.kept(t), bucket.gradient(t)))
          << "tensor " << t << " after " << encoded;
    }
  }
}

TEST(GradientSlices, ThoseOfAHostAreStagedAndScaledAlready) {
  Bucket submitted(0.5f);
  Bucket staged(0.5f);
  (*staged).Stage();
  for (const std::size_t t : {0, 1, 2}) {
    const SparseEntries expected = submitted.Encode(t);
    const SparseEntries found = staged.Encode(t, /*staged=*/true);
    EXPECT_EQ(found.indices, expected.indices);
    EXPECT_EQ(found.values, expected.values);
  }
}

TEST(GradientSlices, EveryRunSelectsAnew) {
  Bucket bucket;
  for (const std::size_t t : {0, 1, 2}) bucket.Encode(t);
  (*bucket).Keep();
  const float before = bucket.kept(2)[5];
  bucket.Encode(0);
  EXPECT_EQ(bucket.kept(2)[5], before + bucket.gradient(2)[5]);
}

}  // namespace
}  // namespace weir::gradient_slices_test
