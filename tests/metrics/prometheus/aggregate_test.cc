#include "metrics/prometheus/aggregate.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace weir {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class AggregateTest : public ::testing::Test {
 protected:
  AggregateTest() {
    names_.Add({.name = "conv",
                .routes = {{}, {"allgather", "gather"}},
                .compressor = "dgc",
                .group = "g"});
    names_.Add({.name = "bias"});
  }

  /// The only series of a family with these labels.
  std::optional<prometheus::ClientMetric> Find(const std::string& name,
                                               const std::map<std::string, std::string>& labels) {
    for (const auto& family : registry_.Collect()) {
      for (const auto& metric : family.metric) {
        std::map<std::string, std::string> found;
        for (const auto& label : metric.label) found[label.name] = label.value;
        if (family.name == name && found == labels) return metric;
      }
    }
    return std::nullopt;
  }
  double Counter(const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    const auto metric = Find(name, labels);
    return metric ? metric->counter.value : -1;
  }
  double Gauge(const std::string& name, const std::map<std::string, std::string>& labels) {
    const auto metric = Find(name, labels);
    return metric ? metric->gauge.value : -1;
  }

  prometheus::Registry registry_;
  BucketNames names_;
};

TEST_F(AggregateTest, PayloadAndDenseEquivalentComeFromTheExchange) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.bytes_in = 4000, .bytes_out = 50, .bucket = 0, .stage = Stage::kCompress});
  aggregate.Add({.bytes_in = 50, .bytes_out = 4000, .bucket = 0, .stage = Stage::kExchange});
  // In its dense phase a compressor has no Compress stage.
  aggregate.Add({.bytes_in = 4000, .bytes_out = 4000, .bucket = 0, .stage = Stage::kExchange});
  aggregate.Add({.bytes_in = 8, .bytes_out = 8, .bucket = 1, .stage = Stage::kExchange});
  EXPECT_EQ(Counter("weir_payload_bytes_total", {{"compressor", "dgc"}}), 4050);
  EXPECT_EQ(Counter("weir_dense_equivalent_bytes_total", {{"compressor", "dgc"}}), 8000);
  EXPECT_EQ(Counter("weir_dense_equivalent_bytes_total", {{"compressor", "none"}}), 8);
  EXPECT_EQ(Counter("weir_payload_bytes_total", {{"compressor", "none"}}), 8);
}

TEST_F(AggregateTest, CollectivesAreCountedByResultAndAFailedOneSentNothing) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.bytes_in = 8, .bucket = 1, .stage = Stage::kExchange});
  aggregate.Add({.bytes_in = 8, .bucket = 1, .stage = Stage::kExchange, .ok = false});
  std::map<std::string, std::string> labels = {{"op", "allreduce"}, {"route", "dense"}};
  labels["result"] = "ok";
  EXPECT_EQ(Counter("weir_collectives_total", labels), 1);
  labels["result"] = "error";
  EXPECT_EQ(Counter("weir_collectives_total", labels), 1);
  EXPECT_EQ(Counter("weir_payload_bytes_total", {{"compressor", "none"}}), 8);
}

TEST_F(AggregateTest, StepsAreCountedWithWhatLiesBeforeThem) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add(StepSummary{.step = 0, .start_ns = 0, .begin_ns = 0, .end_ns = 10 * kMs});
  aggregate.Add(
      StepSummary{.step = 1, .start_ns = 10 * kMs, .begin_ns = 30 * kMs, .end_ns = 40 * kMs});
  EXPECT_DOUBLE_EQ(Find("weir_step_duration_seconds", {})->histogram.sample_sum, 0.040);
  EXPECT_EQ(Find("weir_step_duration_seconds", {})->histogram.sample_count, 2u);
}

TEST_F(AggregateTest, WaitsAreTheGapsBetweenStagesOfOneRun) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.start_ns = 0, .end_ns = 2 * kMs, .bucket = 0, .stage = Stage::kQueue});
  aggregate.Add({.start_ns = 3 * kMs, .end_ns = 5 * kMs, .bucket = 0, .stage = Stage::kPack});
  aggregate.Add({.start_ns = 2 * kMs, .end_ns = 9 * kMs, .bucket = 0, .stage = Stage::kNegotiate});
  aggregate.Add({.start_ns = 10 * kMs, .end_ns = 11 * kMs, .bucket = 0, .stage = Stage::kExchange});
  const auto pack = Find("weir_queue_wait_seconds", {{"stage", "pack"}});
  EXPECT_DOUBLE_EQ(pack->histogram.sample_sum, 0.001);
  const auto exchange = Find("weir_queue_wait_seconds", {{"stage", "exchange"}});
  EXPECT_DOUBLE_EQ(exchange->histogram.sample_sum, 0.001);
  EXPECT_EQ(Find("weir_queue_wait_seconds", {{"stage", "negotiate"}}), std::nullopt);
  EXPECT_DOUBLE_EQ(Find("weir_negotiation_duration_seconds", {})->histogram.sample_sum, 0.007);
}

TEST_F(AggregateTest, LostRecordsAreCountedAndMakeNoWaits) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.end_ns = 2 * kMs, .bucket = 0, .stage = Stage::kQueue});
  aggregate.AddLost(3);
  aggregate.Add({.start_ns = 9 * kMs, .end_ns = 9 * kMs, .bucket = 0, .stage = Stage::kUnpack});
  EXPECT_EQ(Counter("weir_records_lost_total"), 3);
  EXPECT_EQ(Find("weir_queue_wait_seconds", {{"stage", "unpack"}}), std::nullopt);
}

TEST_F(AggregateTest, GaugesOfAGroupAreMeansOfItsGradientsByEntries) {
  const std::uint32_t large =
      names_.Add({.name = "w", .compressor = "dgc", .group = "h", .elements = 300});
  const std::uint32_t small =
      names_.Add({.name = "b", .compressor = "dgc", .group = "h", .elements = 100});
  const std::uint32_t dense =
      names_.Add({.name = "d", .compressor = "none", .group = "h", .elements = 1000});
  Aggregate aggregate(registry_, names_, false);
  const auto add = [&](std::uint32_t gradient, float density, float threshold) {
    aggregate.Add({.bytes_in = 4,
                   .bucket = gradient,
                   .density = density,
                   .threshold = threshold,
                   .stage = Stage::kGradient});
  };
  add(large, 0.5f, 9.0f);
  add(large, 0.25f, 2.0f);
  add(small, 1.0f, 0.0f);
  add(dense, 1.0f, 0.0f);
  aggregate.Add({.bucket = large, .density = 3.0f, .stage = Stage::kResidual});
  aggregate.Publish();
  EXPECT_DOUBLE_EQ(Gauge("weir_gradient_density_ratio", {{"group", "h"}}), 175.0 / 400);
  EXPECT_DOUBLE_EQ(Gauge("weir_threshold", {{"group", "h"}}), 600.0 / 400);
  EXPECT_DOUBLE_EQ(Gauge("weir_residual_norm_ratio", {{"group", "h"}}), 3.0)
      << "of those that were measured";
  EXPECT_EQ(Find("weir_tensor_density_ratio", {{"tensor", "w"}}), std::nullopt);
  EXPECT_EQ(Find("weir_stage_duration_seconds", {{"stage", "gradient"}, {"compressor", "dgc"}}),
            std::nullopt)
      << "a gradient is no stage";
}

TEST_F(AggregateTest, CollectivesAreCountedByTheRouteOfTheirRecord) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.bucket = 0, .stage = Stage::kExchange, .route = 1});
  aggregate.Add({.bucket = 0, .stage = Stage::kExchange, .route = 0});
  aggregate.Add({.bucket = 0, .stage = Stage::kExchange, .route = 1});
  std::map<std::string, std::string> labels = {{"op", "allgather"}, {"route", "gather"}};
  labels["result"] = "ok";
  EXPECT_EQ(Counter("weir_collectives_total", labels), 2);
  labels["op"] = "allreduce";
  labels["route"] = "dense";
  EXPECT_EQ(Counter("weir_collectives_total", labels), 1);
}

TEST_F(AggregateTest, PerTensorSeriesHaveTheNamesAndAreBounded) {
  Aggregate aggregate(registry_, names_, true);
  const auto send = [&](const std::string& name) {
    const std::uint32_t number = names_.Add({.name = name, .compressor = "dgc", .elements = 4});
    aggregate.Add({.bytes_in = 16, .bucket = number, .density = 0.001f, .stage = Stage::kGradient});
    aggregate.Publish();
  };
  send("w");
  EXPECT_EQ(Gauge("weir_tensor_density_ratio", {{"tensor", "w"}}), 0.001);  // Not 0.0010000000475.
  for (std::size_t i = 1; i < GradientGauges::kMaxPerTensor; ++i) send(std::to_string(i));
  EXPECT_EQ(Gauge("weir_tensor_density_ratio", {{"tensor", "1023"}}), 0.001);
  send("one more");
  EXPECT_EQ(Find("weir_tensor_density_ratio", {{"tensor", "one more"}}), std::nullopt);
}

}  // namespace
}  // namespace weir
