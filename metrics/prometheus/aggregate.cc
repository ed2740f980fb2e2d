#include "metrics/prometheus/aggregate.h"

#include <algorithm>
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
    : names_(names), families_(registry), gradients_(families_, names, per_tensor) {}

void Aggregate::Add(const StageRecord& record) {
  if (IsOfGradient(record.stage)) return gradients_.Add(record);
  if (!IsOfBucket(record.stage)) return;
  BucketSeries& series = SeriesOf(record.bucket);
  AddWait(record, series);
  AddDuration(record, series);
  if (record.stage == Stage::kExchange) AddExchange(record, series);
}

void Aggregate::AddLost(std::uint64_t count) {
  families_.records_lost.Increment(static_cast<double>(count));
  // The missing stage may be the one that a wait would be counted from.
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

void Aggregate::Add(const StepSummary& step) {
  families_.step_duration.Observe(Seconds(step.end_ns - step.start_ns));
  families_.exposed_communication.Increment(Seconds(step.exposed.communication_ns));
  families_.exposed_compression.Increment(Seconds(step.exposed.compression_ns));
}

void Aggregate::AddWait(const StageRecord& record, BucketSeries& series) {
  // Negotiation begins when the queue ends and runs beside packing; it has no wait here.
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

}  // namespace weir
