#include "metrics/records/last_stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

namespace weir {
namespace {

constexpr std::size_t kShown = 8;
constexpr std::size_t kLookedAt = 256;  // Some are of gradients, which tell nothing about stages.

std::string Describe(const StageRecord& record, const BucketNames& names, std::int64_t now_ns) {
  const double ago = static_cast<double>(now_ns - record.end_ns) / 1e6;
  std::string text = fmt::format("{:.1f} ms ago {}", ago, Name(record.stage));
  if (record.stage != Stage::kStep && record.stage != Stage::kRound) {
    text += fmt::format(" of '{}'", names.Find(record.bucket).name);
  }
  if (record.step >= 0) text += fmt::format(" in step {}", record.step);
  return record.ok ? text : text + " (failed)";
}

}  // namespace

std::string LastStages(const Recorder& recorder, const BucketNames& names, std::int64_t now_ns) {
  std::array<StageRecord, kLookedAt> records;
  const auto read = recorder.ReadNewest(records);
  const auto newest = std::span(records).first(read.count);
  const auto stages = newest.first(static_cast<std::size_t>(
      std::ranges::remove_if(newest, IsOfGradient, &StageRecord::stage).begin() - newest.begin()));
  std::string text;
  for (const StageRecord& record : stages.last(std::min(stages.size(), kShown))) {
    text += (text.empty() ? "" : ", ") + Describe(record, names, now_ns);
  }
  return text.empty() ? "none" : text;
}

}  // namespace weir
