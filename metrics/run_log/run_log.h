#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "metrics/files/output_file.h"
#include "metrics/run_log/log_blocks.h"

namespace weir {

/// A rank's run log as a file (docs/reference/run-log.md). Data that Flush wrote outlives the
/// process, however it ends. Not thread-safe.
class RunLog {
 public:
  /// Bytes of detail after which half as many steps of it are kept (LogBlocks::Options). A log
  /// grows with the logarithm of the steps, plus 70 bytes per step. Readers want the logs of all
  /// ranks of a job, so their total is bounded: a large job's ranks have less each.
  static std::size_t DetailBytes(int ranks);

  /// Creates the rank's file (RankPath). `run_page` and `names` as in LogBlocks. Throws
  /// InvalidArgument when that fails.
  RunLog(const std::string& path, const RunInfo& info, const BucketNames& names,
         const std::string& run_page);

  template <typename T>
  void Add(const T& what) {
    blocks_.Add(what);
  }
  void AddLost(std::uint64_t records) { blocks_.AddLost(records); }
  void AddStalls(std::string page) { blocks_.AddStalls(std::move(page)); }
  void AddPlan(std::string block) { blocks_.AddPlan(std::move(block)); }
  void AddEnd(std::int64_t time_ns, const std::string& failure) {
    blocks_.AddEnd(time_ns, failure);
  }
  /// Writes everything added when a second has passed since the last time; `everything`: now.
  /// Throws InvalidArgument when the disk refuses; the log then ends with what it had before.
  void Flush(std::int64_t now_ns, bool everything = false);

 private:
  LogBlocks blocks_;
  const OutputFile file_;
};

}  // namespace weir
