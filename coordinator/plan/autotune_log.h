#pragma once

#include <cstddef>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/plan/step_plan.h"
#include "weir/settings.h"

namespace weir {

/// The table of what Settings::autotune measures: Horovod's columns, then the group and its plan
/// (FormsText). The score is bytes of fp32 gradients in a microsecond, as Horovod's. Thread-safe.
class AutotuneLog {
 public:
  explicit AutotuneLog(const Settings& settings);

  /// True if the settings ask for it.
  bool wanted() const { return !path_.empty(); }
  /// Adds a line; the first one begins the file. Logs an error if that fails.
  void Add(const std::string& group, const StepPlan& plan, double bytes_per_second);

 private:
  const std::string path_;
  const std::string parameters_;  ///< Horovod's, which one job does not change.
  std::mutex mutex_;
  std::ofstream file_;
};

/// Gathers the steps of a group into samples: one for each plan that is tried, until one is chosen.
/// Not thread-safe.
class AutotuneSamples {
 public:
  AutotuneSamples(AutotuneLog& log, std::string group, std::size_t steps)
      : log_(log), group_(std::move(group)), steps_(steps) {}

  /// Notes a step; `settled`: its plan is chosen, so that one sample of it is enough.
  void Observe(const StepPlan& plan, double seconds, double dense_bytes, bool settled);

 private:
  void Write();

  AutotuneLog& log_;
  const std::string group_;
  const std::size_t steps_;  ///< Of a sample.
  StepPlan plan_;
  std::size_t taken_ = 0;
  double seconds_ = 0.0;
  double bytes_ = 0.0;
  bool done_ = false;  ///< The chosen plan is written.
};

}  // namespace weir
