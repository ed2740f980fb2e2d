#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "metrics/records/recorder.h"

namespace weir {

/// Records the steps of a rank (Stage::kStep). Groups of gradients that are in a step at the same
/// time take it together, as an optimizer's with two kinds of compression do: such a step is
/// recorded once, when the last of them has ended its part, or a group begins another step.
/// Thread-safe.
class StepRecorder {
 public:
  /// `recorder` must outlive it.
  explicit StepRecorder(Recorder& recorder) : recorder_(recorder) {}

  /// A group's part of a step. Counts for nothing where it is destroyed before it has ended, but
  /// keeps the step open so long.
  class GroupPart {
   public:
    GroupPart(StepRecorder& steps, std::int64_t start_ns);
    ~GroupPart();
    GroupPart(const GroupPart&) = delete;
    GroupPart& operator=(const GroupPart&) = delete;

    /// `part`: the number of the step, its bytes and density, by the group; the times are given
    /// here. At most once.
    void End(StageRecord part, std::int64_t end_ns);

   private:
    StepRecorder& steps_;
    const std::int64_t start_ns_;
  };

 private:
  void Open();
  void Add(const StageRecord& part);
  void Close();
  void Write();

  Recorder& recorder_;
  std::mutex mutex_;  // Guards what follows.
  int open_ = 0;
  std::optional<StageRecord> step_;  ///< What the parts that have ended say together.
};

}  // namespace weir
