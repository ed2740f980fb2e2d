#include "metrics/steps/exposed_time.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

StageRecord Of(Stage stage, std::int64_t start, std::int64_t end) {
  return {.start_ns = start, .end_ns = end, .stage = stage};
}

TEST(CoveredNs, OverlapsCountOnceAndOnlyInsideTheWindow) {
  EXPECT_EQ(CoveredNs({}, {0, 100}), 0);
  EXPECT_EQ(CoveredNs({{10, 30}, {20, 40}}, {0, 100}), 30);
  EXPECT_EQ(CoveredNs({{20, 40}, {10, 30}}, {0, 100}), 30);
  EXPECT_EQ(CoveredNs({{10, 90}, {20, 30}}, {0, 100}), 80);
  EXPECT_EQ(CoveredNs({{10, 30}, {50, 200}}, {20, 60}), 20);
  EXPECT_EQ(CoveredNs({{0, 10}, {60, 70}}, {20, 60}), 0);
}

TEST(ExposedTime, OnlyTheTailAfterTheLastGradientIsExposed) {
  ExposedTime exposed;
  exposed.Add(Of(Stage::kQueue, 10, 20), true);
  exposed.Add(Of(Stage::kExchange, 25, 60), true);  // Backprop goes on until 50.
  exposed.Add(Of(Stage::kQueue, 45, 50), true);
  exposed.Add(Of(Stage::kExchange, 70, 80), true);
  const Exposed step = exposed.EndStep(Of(Stage::kStep, 0, 100));
  EXPECT_EQ(step.communication_ns, 10 + 10);
  EXPECT_EQ(step.compression_ns, 0);
}

TEST(ExposedTime, AMomentOfBothIsCommunication) {
  ExposedTime exposed;
  exposed.Add(Of(Stage::kQueue, 0, 10), true);
  exposed.Add(Of(Stage::kCompress, 10, 40), true);
  exposed.Add(Of(Stage::kCompress, 15, 35), true);  // Another worker.
  exposed.Add(Of(Stage::kExchange, 30, 60), true);
  const Exposed step = exposed.EndStep(Of(Stage::kStep, 0, 100));
  EXPECT_EQ(step.communication_ns, 30);
  EXPECT_EQ(step.compression_ns, 20);
}

TEST(ExposedTime, CopiesOfAnUncompressedBucketAreCommunication) {
  ExposedTime exposed;
  exposed.Add(Of(Stage::kQueue, 0, 10), false);
  exposed.Add(Of(Stage::kPack, 10, 15), false);
  const Exposed step = exposed.EndStep(Of(Stage::kStep, 0, 100));
  EXPECT_EQ(step.communication_ns, 5);
  EXPECT_EQ(step.compression_ns, 0);
}

TEST(ExposedTime, StepsDoNotSeeEachOther) {
  ExposedTime exposed;
  exposed.Add(Of(Stage::kQueue, 0, 10), true);
  exposed.Add(Of(Stage::kExchange, 10, 20), true);
  EXPECT_EQ(exposed.EndStep(Of(Stage::kStep, 0, 50)).communication_ns, 10);
  EXPECT_EQ(exposed.EndStep(Of(Stage::kStep, 50, 100)).communication_ns, 0);
}

}  // namespace
}  // namespace weir
