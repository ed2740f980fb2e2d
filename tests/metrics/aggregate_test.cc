#include "metrics/aggregate.h"

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

TEST_F(AggregateTest, StepsLastFromEndToEndAndAGapCountsFromTheBeginning) {
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.start_ns = 0, .end_ns = 10 * kMs, .step = 0, .stage = Stage::kStep});
  aggregate.Add({.start_ns = 30 * kMs, .end_ns = 40 * kMs, .step = 1, .stage = Stage::kStep});
  EXPECT_DOUBLE_EQ(Find("weir_step_duration_seconds", {})->histogram.sample_sum, 0.040);
  aggregate.Add({.start_ns = 90 * kMs, .end_ns = 95 * kMs, .step = 0, .stage = Stage::kStep});
  EXPECT_DOUBLE_EQ(Find("weir_step_duration_seconds", {})->histogram.sample_sum, 0.045);
  EXPECT_EQ(Find("weir_step_duration_seconds", {})->histogram.sample_count, 3u);
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

TEST_F(AggregateTest, DensityOfAGroupIsTheMeanOfItsBucketsByBytes) {
  names_.Add({.compressor = "dgc", .group = "g"});
  Aggregate aggregate(registry_, names_, false);
  aggregate.Add({.bytes_in = 100, .bucket = 0, .density = 0.5f, .stage = Stage::kCompress});
  aggregate.Add({.bytes_in = 300, .bucket = 0, .density = 0.25f, .stage = Stage::kCompress});
  aggregate.Add({.bytes_in = 100, .bucket = 2, .density = 1.0f, .stage = Stage::kCompress});
  aggregate.Publish();
  EXPECT_DOUBLE_EQ(Gauge("weir_gradient_density_ratio", {{"group", "g"}}), 175.0 / 400);
  EXPECT_EQ(Find("weir_bucket_density_ratio", {{"bucket", "0"}, {"name", "conv"}}), std::nullopt);
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
  for (std::uint32_t i = 2; i <= Aggregate::kMaxPerTensor; ++i) names_.Add({.compressor = "dgc"});
  Aggregate aggregate(registry_, names_, true);
  const auto compress = [&](std::uint32_t bucket) {
    aggregate.Add({.bytes_in = 4, .bucket = bucket, .density = 0.5f, .stage = Stage::kCompress});
    aggregate.Publish();
  };
  compress(0);
  EXPECT_EQ(Gauge("weir_bucket_density_ratio", {{"bucket", "0"}, {"name", "conv"}}), 0.5);
  compress(Aggregate::kMaxPerTensor - 1);
  EXPECT_EQ(Gauge("weir_bucket_density_ratio", {{"bucket", "1023"}, {"name", ""}}), 0.5);
  compress(Aggregate::kMaxPerTensor);
  EXPECT_EQ(Find("weir_bucket_density_ratio", {{"bucket", "1024"}, {"name", ""}}), std::nullopt);
}

}  // namespace
}  // namespace weir
