#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "metrics/gauges/engine_sample.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/record.h"
#include "metrics/records/run_info.h"
#include "metrics/run_log/block.h"
#include "metrics/steps/step_summary.h"

namespace weir {

/// A finished block.
struct LogBlock {
  /// Importance to readers: blocks of one level may be dropped without the others.
  enum class Level : std::uint8_t {
    kLasting,   ///< Needed to understand the others: who runs, and the meaning of numbers.
    kChange,    ///< What holds until the next of its kind: few, and an old one may still hold.
    kOverview,  ///< One row per step or second.
    kDetail,    ///< One row per stage or gradient.
  };
  Level level = Level::kLasting;
  std::uint64_t number = 0;  ///< 1, 2, ... in the order of creation.
  std::string bytes;
};

/// Makes blocks (docs/reference/run-log.md) from events on a rank. Not thread-safe: used by the
/// thread that reads the records, never by one that trains.
class LogBlocks {
 public:
  struct Options {
    std::int64_t pause_ns = 1'000'000'000;  ///< Pause between two creations of blocks.
    /// Bytes of detail of every step, after which only every second step is kept, after as many
    /// again every fourth, and so on. 0: every step for ever.
    std::size_t detail_bytes = 0;
  };

  /// `run_page`: the page /run, JSON. `names` must outlive it.
  LogBlocks(const RunInfo& info, const BucketNames& names, const std::string& run_page,
            const Options& options);

  void Add(const StageRecord& record);
  void Add(const StepSummary& summary) { steps_.push_back(summary); }
  void Add(const EngineSample& sample) { samples_.push_back(sample); }
  /// Adds the tensors stalled from now on, JSON (StallsPage).
  void AddStalls(std::string page) { stalls_.push_back(std::move(page)); }
  /// Adds a plan that this rank has made, JSON (PlanBlock).
  void AddPlan(std::string block) { plans_.push_back(std::move(block)); }
  void AddLost(std::uint64_t records) { lost_ += records; }
  /// Adds the rank's end, in good order where `failure` is empty. Nothing follows it.
  void AddEnd(std::int64_t time_ns, const std::string& failure);

  /// Returns the blocks of everything added, if the pause since the last time is over;
  /// `everything`: now. The first time, also the block that identifies the run.
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
  void EmitPlans();
  void EmitEnd();
  void ThinOut();

  const int rank_;
  const BucketNames& names_;
  const Options options_;
  std::string run_page_;  ///< Empty once it was written.

  std::vector<LogBlock> made_;
  std::uint64_t last_number_ = 0;
  std::vector<StageRecord> stages_;
  std::vector<Gradient> gradients_;
  std::unordered_map<std::uint32_t, float> residuals_;  ///< By gradient whose record follows.
  std::vector<StepSummary> steps_;
  std::vector<EngineSample> samples_;
  std::vector<std::string> stalls_;
  std::vector<std::string> plans_;
  std::string end_;  ///< Empty: the rank goes on.
  std::uint64_t lost_ = 0;
  std::uint32_t named_ = 0;  ///< Buckets below this number have names in the log.
  std::uint32_t seen_ = 0;   ///< Buckets below this number have records.
  std::int64_t taken_ns_ = 0;
  std::int64_t detail_every_ = 1;
  std::size_t detail_bytes_ = 0;  ///< Since detail_every_ changed.
};

}  // namespace weir
