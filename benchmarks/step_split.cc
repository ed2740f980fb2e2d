#include "benchmarks/step_split.h"

#include "benchmarks/report.h"

namespace weir::bench {
namespace {

double Milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::int64_t CoveredNs(const std::vector<Interval>& intervals,
                       const std::vector<Interval>& windows) {
  std::int64_t covered = 0;
  for (const Interval& window : windows) covered += weir::CoveredNs(intervals, window);
  return covered;
}

bool Exchanges(Stage stage) { return stage == Stage::kNegotiate || stage == Stage::kExchange; }
bool Compresses(Stage stage) {
  return stage == Stage::kPack || stage == Stage::kCompress || stage == Stage::kMerge ||
         stage == Stage::kUnpack;
}

}  // namespace

Split SplitOf(const Recorder& recorder, std::uint64_t first, std::int64_t step_ns,
              const std::vector<Interval>& waits) {
  std::vector<StageRecord> records(recorder.added() - first);
  records.resize(recorder.Read(first, records).count);
  std::vector<Interval> compression;
  std::vector<Interval> both;
  std::int64_t compression_ns = 0;
  for (const StageRecord& record : records) {
    const Interval interval{record.start_ns, record.end_ns};
    if (Exchanges(record.stage)) both.push_back(interval);
    if (Compresses(record.stage)) {
      compression.push_back(interval);
      compression_ns += interval.end_ns - interval.start_ns;
    }
  }
  both.insert(both.end(), compression.begin(), compression.end());
  const std::int64_t exposed_compression = CoveredNs(compression, waits);
  return {.step = Milliseconds(step_ns),
          .compression = Milliseconds(compression_ns),
          .exposed_compression = Milliseconds(exposed_compression),
          // Time of both is counted as compression, against the pipeline.
          .exposed_exchange = Milliseconds(CoveredNs(both, waits) - exposed_compression)};
}

Split MedianOf(const std::vector<Split>& splits) {
  const auto median = [&](double Split::*member) {
    std::vector<double> values;
    values.reserve(splits.size());
    for (const Split& split : splits) values.push_back(split.*member);
    return Median(values);
  };
  return {median(&Split::step),
          median(&Split::compression),
          median(&Split::exposed_compression),
          median(&Split::exposed_exchange),
          median(&Split::forward),
          median(&Split::backward)};
}

}  // namespace weir::bench
