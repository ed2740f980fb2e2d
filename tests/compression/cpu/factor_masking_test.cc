#include "compression/cpu/factor_masking.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace weir::cpu::factor_masking_test {
namespace {

using Floats = std::vector<float>;

const std::vector<std::uint32_t> kSent = {1, 3};

/// A tensor's momentum and residual, and what takes sent entries out of them.
struct Tensor {
  explicit Tensor(bool masks, Floats momentum = {1, 2, 3, 4})
      : u(std::move(momentum)), masking(masks, u, v) {}
  Floats u;
  Floats v = {10, 20, 30, 40};
  FactorMasking masking;
};

TEST(FactorMasking, TakesSentEntriesOutOfResidualAndMomentum) {
  Tensor tensor(/*masks=*/true);
  tensor.masking.Settle(kSent, Floats{20, 39}, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 1}));
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 0}));
}

TEST(FactorMasking, KeepsTheMomentumWithoutMasking) {
  Tensor tensor(/*masks=*/false);
  tensor.masking.Settle(kSent, Floats{20, 40}, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
}

TEST(FactorMasking, NeedsNoMomentum) {
  Tensor tensor(/*masks=*/true, {});
  tensor.masking.Settle(kSent, Floats{20, 40}, nullptr);
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 40}));
}

TEST(FactorMasking, LeavesTheMomentumOfAnEntryThatRoundingMadeNothing) {
  Tensor tensor(/*masks=*/true);
  tensor.v[3] = 0.0f;  // Zero itself was sent.
  tensor.masking.Settle(kSent, Floats{0, 0}, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 0}));
}

TEST(FactorMasking, PutsBackWhatItTookOnce) {
  Tensor tensor(/*masks=*/true);
  tensor.masking.Settle(kSent, Floats{20, 40}, nullptr);
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 40}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
  tensor.v[1] = 7.0f;
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v[1], 7.0f);
}

TEST(FactorMasking, PutsNothingBackOnceForgotten) {
  Tensor tensor(/*masks=*/true);
  tensor.masking.Settle(kSent, Floats{20, 40}, nullptr);
  tensor.masking.Forget();
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 0}));
}

TEST(FactorMasking, SharesManyEntriesWithAPool) {
  std::vector<std::uint32_t> indices(20000);
  std::iota(indices.begin(), indices.end(), 0u);
  Floats u(indices.size(), 1.0f), v(indices.size(), 3.0f);
  FactorMasking masking(/*masking=*/true, u, v);
  ThreadPool pool(3, "test");
  masking.Settle(indices, Floats(indices.size(), 2.0f), &pool);
  EXPECT_EQ(v, Floats(indices.size(), 1.0f));
  EXPECT_EQ(u, Floats(indices.size(), 0.0f));
  masking.Undo();
  EXPECT_EQ(v, Floats(indices.size(), 3.0f));
  EXPECT_EQ(u, Floats(indices.size(), 1.0f));
}

}  // namespace
}  // namespace weir::cpu::factor_masking_test
