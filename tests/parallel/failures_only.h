#pragma once

#include <gtest/gtest.h>

#include <cstdio>

namespace weir {

/// Names the rank in front of each failure, and prints nothing else.
class FailuresOnly final : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_,
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
  }

 private:
  int rank_;
};

/// Every rank runs the same tests in the same order: rank 0 prints as usual, the others print their
/// failures only.
inline void PrintFailuresOnlyUnlessRankZero(int rank) {
  if (rank == 0) return;
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailuresOnly(rank));
}

}  // namespace weir
