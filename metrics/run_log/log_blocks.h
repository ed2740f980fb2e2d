#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "metrics/bucket_names.h"
#include "metrics/engine_sample.h"
#include "metrics/record.h"
#include "metrics/run_info.h"
#include "metrics/run_log/block.h"
#include "metrics/step_summary.h"

namespace weir {

/// A block, made.
struct LogBlock {
  /// What readers need of it in the end: blocks of one level may be dropped without the others.
  enum class Level : std::uint8_t {
    kLasting,   ///< Who runs, and what numbers mean: without these the others say little.
    kOverview,  ///< A row a step or a second.
    kDetail,    ///< A row a stage or a gradient.
  };
  Level level = Level::kLasting;
  std::uint64_t number = 0;  ///< 1, 2, ... in the order in which they were made.
  std::string bytes;
};

/// Makes blocks (docs/reference/run-log.md) of what happens on a rank. Not thread-safe: used by the
/// thread that reads the records, never by one that trains.
class LogBlocks {
 public:
  struct Options {
    std::int64_t pause_ns = 1'000'000'000;  ///< Between two times that blocks are made.
    /// Detail of every step is taken until there are so many bytes of it, then of every second one
    /// until there are as many again, then of every fourth. 0: of every step for ever.
    std::size_t detail_bytes = 0;
  };

  /// `run_page`: what /run says of the run, JSON. `names` must outlive it.
  LogBlocks(const RunInfo& info, const BucketNames& names, const std::string& run_page,
            const Options& options);

  void Add(const StageRecord& record);
  void Add(const StepSummary& summary) { steps_.push_back(summary); }
  void Add(const EngineSample& sample) { samples_.push_back(sample); }
  /// What is stalled from now on, JSON (StallsPage).
  void AddStalls(std::string page) { stalls_.push_back(std::move(page)); }
  void AddLost(std::uint64_t records) { lost_ += records; }
  /// The rank has ended, in good order where `failure` is empty. Nothing comes behind it.
  void AddEnd(std::int64_t time_ns, const std::string& failure);

  /// The blocks of what was added, if the pause is over since the last time; `everything`: now. The
  /// first time, also the one that says what runs.
  std::vector<LogBlock> Take(std::int64_t now_ns, bool everything = false);

 private:
  struct Gradient {
    StageRecord record;
    float residual_ratio = -1.0f;  ///< Negative: not measured.
  };
  bool IsDetailed(std::int64_t step) const { return step < 0 || step % detail_every_ == 0; }
  void Emit(LogBlock::Level level, const RunLogBlock& block);
  RunLogBlock Begin(const char* kind);
  void EmitNames();
  void EmitStages();
  void EmitGradients();
  void EmitSteps();
  void EmitSamples();
  void EmitStalls();
  void EmitEnd();
  void ThinOut();

  const int rank_;
  const BucketNames& names_;
  const Options options_;
  std::string run_page_;  ///< Empty once it is told.

  std::vector<LogBlock> made_;
  std::uint64_t last_number_ = 0;
  std::vector<StageRecord> stages_;
  std::vector<Gradient> gradients_;
  std::unordered_map<std::uint32_t, float> residuals_;  ///< By gradient whose record is to come.
  std::vector<StepSummary> steps_;
  std::vector<EngineSample> samples_;
  std::vector<std::string> stalls_;
  std::string end_;  ///< Empty: it goes on.
  std::uint64_t lost_ = 0;
  std::uint32_t named_ = 0;  ///< Buckets of smaller numbers are known by name.
  std::uint32_t seen_ = 0;   ///< Records have spoken of those.
  std::int64_t taken_ns_ = 0;
  std::int64_t detail_every_ = 1;
  std::size_t detail_bytes_ = 0;  ///< Since detail_every_ changed.
};

}  // namespace weir
