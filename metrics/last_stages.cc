#include "metrics/last_stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

namespace weir {
namespace {

constexpr std::size_t kShown = 8;

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
  const std::uint64_t added = recorder.added();
  std::array<StageRecord, kShown> records;
  const auto read = recorder.Read(added - std::min<std::uint64_t>(added, kShown), records);
  std::string text;
  for (const StageRecord& record : std::span(records).first(read.count)) {
    text += (text.empty() ? "" : ", ") + Describe(record, names, now_ns);
  }
  return text.empty() ? "none" : text;
}

}  // namespace weir
