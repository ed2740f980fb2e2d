#include "monitor_gui/run/bucket_figures.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace weir::monitor {
namespace {

constexpr std::ptrdiff_t kStagesLookedAt = 20'000;

struct Sums {
  BucketFigures figures;
  std::int64_t step = -1;
  double steps = 0;
};

}  // namespace

std::map<std::uint32_t, BucketFigures> BucketFiguresAt(const RankRun& rank, std::int64_t until_ns,
                                                       std::int64_t steps, std::int64_t since) {
  const auto end = rank.stages().begin() + rank.StagesUntil(until_ns);
  const std::ranges::subrange looked_at(
      end - std::min(end - rank.stages().begin(), kStagesLookedAt), end);
  std::int64_t newest = -1;
  for (const StageRow& row : looked_at) newest = std::max(newest, row.step);
  const std::int64_t first = std::max(newest - steps + 1, std::min(since, newest));
  std::map<std::uint32_t, Sums> sums;
  for (const StageRow& row : looked_at) {
    if (row.step < 0 || row.step < first) continue;
    Sums& bucket = sums[row.bucket];
    const double seconds = static_cast<double>(row.end_ns - row.start_ns) * 1e-9;
    if (row.stage == Stage::kCompress) bucket.figures.compress_seconds += seconds;
    if (row.stage != Stage::kExchange) continue;
    if (std::exchange(bucket.step, row.step) != row.step) bucket.steps += 1;
    bucket.figures.route = row.route;
    bucket.figures.exchange_seconds += seconds;
    bucket.figures.payload += static_cast<double>(row.bytes_in);
    bucket.figures.dense += static_cast<double>(row.bytes_out);
  }
  std::map<std::uint32_t, BucketFigures> buckets;
  for (auto& [number, bucket] : sums) {
    if (bucket.steps == 0) continue;
    BucketFigures& figures = buckets[number] = bucket.figures;
    for (double* of :
         {&figures.exchange_seconds, &figures.compress_seconds, &figures.payload, &figures.dense})
      *of /= bucket.steps;
  }
  return buckets;
}

}  // namespace weir::monitor
