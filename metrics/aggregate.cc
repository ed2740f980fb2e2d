#include "metrics/aggregate.h"

#include <algorithm>
#include <map>
#include <string>

namespace weir {
namespace {

double Seconds(std::int64_t ns) {
  return static_cast<double>(std::max<std::int64_t>(ns, 0)) * 1e-9;
}

std::size_t Index(Stage stage) { return static_cast<std::size_t>(stage); }

prometheus::Labels CollectiveLabels(const RouteInfo& route, bool ok) {
  return {{"op", route.op}, {"route", route.route}, {"result", ok ? "ok" : "error"}};
}

}  // namespace

Aggregate::Aggregate(prometheus::Registry& registry, const BucketNames& names, bool per_tensor)
    : names_(names), per_tensor_(per_tensor), families_(registry) {}

void Aggregate::Add(const StageRecord& record) {
  if (record.stage == Stage::kStep) return AddStep(record);
  if (record.stage == Stage::kRound) return;
  BucketSeries& series = SeriesOf(record.bucket);
  AddWait(record, series);
  AddDuration(record, series);
  if (record.stage == Stage::kCompress && record.ok) series.compress = record;
  if (record.stage == Stage::kExchange) AddExchange(record, series);
  exposed_time_.Add(record, series.info->compressor != "none");
}

void Aggregate::AddLost(std::uint64_t count) {
  families_.records_lost.Increment(static_cast<double>(count));
  // What is missing may be the stage that a wait would be counted from.
  if (count == 0) return;
  for (BucketSeries& series : series_) series.reached_ns = 0;
}

Aggregate::BucketSeries& Aggregate::SeriesOf(std::uint32_t bucket) {
  if (series_.size() <= bucket) series_.resize(bucket + 1);
  BucketSeries& series = series_[bucket];
  if (series.info == nullptr) {
    series.info = &names_.Find(bucket);
    series.collectives.resize(series.info->routes.size());
  }
  return series;
}

void Aggregate::AddStep(const StageRecord& record) {
  const bool follows = record.step == last_step_ + 1 && last_step_end_ns_ != 0;
  const std::int64_t start_ns = follows ? last_step_end_ns_ : record.start_ns;
  last_step_ = record.step;
  last_step_end_ns_ = record.end_ns;
  families_.step_duration.Observe(Seconds(record.end_ns - start_ns));

  const Exposed exposed = exposed_time_.EndStep(record);
  families_.exposed_communication.Increment(Seconds(exposed.communication_ns));
  families_.exposed_compression.Increment(Seconds(exposed.compression_ns));
}

void Aggregate::AddWait(const StageRecord& record, BucketSeries& series) {
  // Negotiation begins when the queue ends and runs beside packing; it waits for nobody here.
  const bool first = record.stage == Stage::kQueue;
  if (!first && record.stage != Stage::kNegotiate && series.reached_ns != 0) {
    prometheus::Histogram*& wait = queue_waits_[Index(record.stage)];
    if (wait == nullptr) {
      wait = &families_.queue_wait.Add({{"stage", Name(record.stage)}}, TimeBuckets());
    }
    wait->Observe(Seconds(record.start_ns - series.reached_ns));
  }
  series.reached_ns = first ? record.end_ns : std::max(series.reached_ns, record.end_ns);
}

void Aggregate::AddDuration(const StageRecord& record, BucketSeries& series) {
  const double seconds = Seconds(record.end_ns - record.start_ns);
  prometheus::Histogram*& duration = series.durations[Index(record.stage)];
  if (duration == nullptr) {
    duration = &families_.stage_duration.Add(
        {{"stage", Name(record.stage)}, {"compressor", series.info->compressor}}, TimeBuckets());
  }
  duration->Observe(seconds);
  if (record.stage == Stage::kNegotiate) families_.negotiation_duration.Observe(seconds);
}

void Aggregate::AddExchange(const StageRecord& record, BucketSeries& series) {
  auto& collectives = series.collectives.at(record.route)[record.ok ? 1 : 0];
  if (collectives.count == nullptr) {
    const auto labels = CollectiveLabels(series.info->routes[record.route], record.ok);
    collectives.count = &families_.collectives.Add(labels);
    collectives.duration = &families_.collective_duration.Add(labels, TimeBuckets());
  }
  collectives.count->Increment();
  collectives.duration->Observe(Seconds(record.end_ns - record.start_ns));
  if (!record.ok) return;

  AddBytes(record.bytes_in, record.bytes_out, series);
}

void Aggregate::AddBytes(std::uint64_t payload, std::uint64_t dense, BucketSeries& series) {
  if (series.payload_bytes == nullptr) {
    const prometheus::Labels labels = {{"compressor", series.info->compressor}};
    series.payload_bytes = &families_.payload_bytes.Add(labels);
    series.dense_equivalent_bytes = &families_.dense_equivalent_bytes.Add(labels);
  }
  series.payload_bytes->Increment(static_cast<double>(payload));
  series.dense_equivalent_bytes->Increment(static_cast<double>(dense));
}

void Aggregate::Publish() {
  struct Mean {
    double weight = 0;
    double density = 0;
    double threshold = 0;
  };
  std::map<std::string, Mean> groups;
  for (std::uint32_t bucket = 0; bucket < series_.size(); ++bucket) {
    BucketSeries& series = series_[bucket];
    if (series.compress.bytes_in == 0) continue;
    Mean& mean = groups[series.info->group];
    const auto weight = static_cast<double>(series.compress.bytes_in);
    mean.weight += weight;
    mean.density += weight * static_cast<double>(series.compress.density);
    mean.threshold += weight * static_cast<double>(series.compress.threshold);
    if (per_tensor_ && bucket < kMaxPerTensor) PublishBucket(bucket, series);
  }
  for (const auto& [group, mean] : groups) {
    families_.density.Add({{"group", group}}).Set(mean.density / mean.weight);
    families_.threshold.Add({{"group", group}}).Set(mean.threshold / mean.weight);
  }
}

void Aggregate::PublishBucket(std::uint32_t bucket, BucketSeries& series) {
  if (series.density == nullptr) {
    const prometheus::Labels labels = {{"bucket", std::to_string(bucket)},
                                       {"name", series.info->name}};
    series.density = &families_.bucket_density.Add(labels);
    series.threshold = &families_.bucket_threshold.Add(labels);
  }
  series.density->Set(static_cast<double>(series.compress.density));
  series.threshold->Set(static_cast<double>(series.compress.threshold));
}

}  // namespace weir
