#include "compression/cpu/exact_k.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::cpu::exact_k_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Indices of candidates that lie side by side from `first` on.
auto From(std::uint32_t first) {
  return [first](std::size_t i) { return first + static_cast<std::uint32_t>(i); };
}

TEST(ExactK, TakesTheFirstTiesAndAllThatIsLarger) {
  const std::vector<float> values = {2.0f, -3.0f, 1.0f, -2.0f, 2.0f};
  ExactK selection;
  selection.Begin(3, MagnitudeKey(2.0f), 2);
  selection.TakeFrom(values, From(0));
  EXPECT_THAT(selection.indices(), ElementsAre(0, 1, 3));
  EXPECT_THAT(selection.values(), ElementsAre(2.0f, -3.0f, -2.0f));
  EXPECT_EQ(selection.ties_left(), 0u);
}

TEST(ExactK, GoesOnFromOneListOfCandidatesToTheNext) {
  ExactK selection;
  selection.Begin(3, MagnitudeKey(2.0f), 2);
  selection.TakeFrom(std::vector{2.0f, 1.0f}, From(10));
  selection.TakeFrom(std::vector{1.0f, -5.0f}, From(20));
  selection.TakeFrom(std::vector{-2.0f, 2.0f}, From(30));
  EXPECT_THAT(selection.indices(), ElementsAre(10, 21, 30));
  EXPECT_THAT(selection.values(), ElementsAre(2.0f, -5.0f, -2.0f));
}

TEST(ExactK, CountsTheTiesThatNoCandidateTook) {
  ExactK selection;
  selection.Begin(2, MagnitudeKey(2.0f), 5);
  selection.TakeFrom(std::vector{2.0f, 3.0f}, From(0));
  EXPECT_THAT(selection.indices(), ElementsAre(0, 1));
  EXPECT_EQ(selection.ties_left(), 4u);
}

TEST(ExactK, SelectsNothingOnceCleared) {
  ExactK selection;
  selection.Begin(1, MagnitudeKey(1.0f), 1);
  selection.TakeFrom(std::vector{1.0f}, From(0));
  selection.Clear();
  EXPECT_THAT(selection.indices(), IsEmpty());
  EXPECT_THAT(selection.values(), IsEmpty());
}

}  // namespace
}  // namespace weir::cpu::exact_k_test
