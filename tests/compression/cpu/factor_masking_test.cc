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
  explicit Tensor(Masking masks, Floats momentum = {1, 2, 3, 4})
      : u(std::move(momentum)), masking(masks, u, v) {}
  Floats u;
  Floats v = {10, 20, 30, 40};
  FactorMasking masking;
};

TEST(FactorMasking, TakesSentEntriesOutOfResidualAndMomentum) {
  Tensor tensor(Masking::kAll);
  tensor.masking.Settle(kSent, Floats{20, 39}, 0.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 1}));
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 0}));
}

TEST(FactorMasking, KeepsTheMomentumWithoutMasking) {
  Tensor tensor(Masking::kNone);
  tensor.masking.Settle(kSent, Floats{20, 40}, 0.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
}

TEST(FactorMasking, KeepsTheMomentumByItsRatioToWhatWaited) {
  Tensor tensor(Masking::kRatio, {1, 5, 3, -60});
  tensor.masking.Settle(kSent, Floats{20, 40}, 0.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 1.25f, 3, -60}));  // 5 * 5 / 20; the other has not waited.
  tensor.masking.Undo();
  EXPECT_EQ(tensor.u, Floats({1, 5, 3, -60}));
}

TEST(FactorMasking, FlushesWhatTheMomentumWouldStillGive) {
  Tensor tensor(Masking::kFlush);
  tensor.masking.Settle(kSent, Floats{38, 76}, /*tail=*/9.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));  // 20 + 9 * 2, 40 + 9 * 4.
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 0}));
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 40}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
  // What rounding leaves of it waits in v, unless nothing was sent.
  tensor.masking.Settle(kSent, Floats{36, 0}, 9.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 2, 30, 40}));
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 4}));
}

TEST(FactorMasking, KeepsTheMomentumThatEntriesWereSelectedBy) {
  Tensor tensor(Masking::kAuto);
  tensor.masking.Settle(kSent, Floats{20, 39}, 0.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 1}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
}

TEST(FactorMasking, NeedsNoMomentum) {
  Tensor tensor(Masking::kAll, {});
  tensor.masking.Settle(kSent, Floats{20, 40}, 0.0f, nullptr);
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 40}));
}

TEST(FactorMasking, LeavesTheMomentumOfAnEntryThatRoundingMadeNothing) {
  Tensor tensor(Masking::kAll);
  tensor.v[3] = 0.0f;  // Zero itself was sent.
  tensor.masking.Settle(kSent, Floats{0, 0}, 0.0f, nullptr);
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 0}));
}

TEST(FactorMasking, PutsBackWhatItTookOnce) {
  Tensor tensor(Masking::kAll);
  tensor.masking.Settle(kSent, Floats{20, 40}, 0.0f, nullptr);
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 20, 30, 40}));
  EXPECT_EQ(tensor.u, Floats({1, 2, 3, 4}));
  tensor.v[1] = 7.0f;
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v[1], 7.0f);
}

TEST(FactorMasking, PutsNothingBackOnceForgotten) {
  Tensor tensor(Masking::kAll);
  tensor.masking.Settle(kSent, Floats{20, 40}, 0.0f, nullptr);
  tensor.masking.Forget();
  tensor.masking.Undo();
  EXPECT_EQ(tensor.v, Floats({10, 0, 30, 0}));
  EXPECT_EQ(tensor.u, Floats({1, 0, 3, 0}));
}

TEST(FactorMasking, SharesManyEntriesWithAPool) {
  std::vector<std::uint32_t> indices(20000);
  std::iota(indices.begin(), indices.end(), 0u);
  Floats u(indices.size(), 1.0f), v(indices.size(), 3.0f);
  FactorMasking masking(Masking::kAll, u, v);
  ThreadPool pool(3, "test");
  masking.Settle(indices, Floats(indices.size(), 2.0f), 0.0f, &pool);
  EXPECT_EQ(v, Floats(indices.size(), 1.0f));
  EXPECT_EQ(u, Floats(indices.size(), 0.0f));
  masking.Undo();
  EXPECT_EQ(v, Floats(indices.size(), 3.0f));
  EXPECT_EQ(u, Floats(indices.size(), 1.0f));
}

}  // namespace
}  // namespace weir::cpu::factor_masking_test
