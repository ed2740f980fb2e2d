#include "coordinator/plan/autotune_log.h"

#include <fmt/core.h>

#include "common/log.h"

namespace weir {
namespace {

constexpr char kColumns[] =
    "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,"
    "tensor_fusion_threshold,score,group,plan";

std::string ParametersOf(const Settings& settings) {
  const auto bit = [](bool value) { return value ? 1 : 0; };
  const double mebibytes = static_cast<double>(settings.fusion_threshold_bytes) / (1 << 20);
  return fmt::format("{},{},0,{},{:g},{:g}", bit(settings.hierarchical_allreduce),
                     bit(settings.hierarchical_allgather), bit(settings.cache_capacity > 0),
                     settings.cycle_time_ms, mebibytes);
}

}  // namespace

AutotuneLog::AutotuneLog(const Settings& settings)
    : path_(settings.autotune ? settings.autotune_log_filename : ""),
      parameters_(ParametersOf(settings)) {}

void AutotuneLog::Add(const std::string& group, const StepPlan& plan, double bytes_per_second) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) {
    file_.open(path_, std::ios::trunc);
    file_ << kColumns << "\n";
  }
  file_ << fmt::format("{},{:.6g},\"{}\",{}\n", parameters_, bytes_per_second / 1e6, group,
                       FormsText(plan));
  file_.flush();  // A program may be killed at any time.
  if (!file_) LogError("the log '{}' (WEIR_AUTOTUNE_LOG) cannot be written", path_);
}

void AutotuneSamples::Observe(const StepPlan& plan, double seconds, double dense_bytes,
                              bool settled) {
  if (!settled) done_ = false;
  if (done_) return;
  if (plan != plan_) {
    Write();
    plan_ = plan;
  }
  ++taken_;
  seconds_ += seconds;
  bytes_ += dense_bytes;
  if (!settled || taken_ < steps_) return;
  Write();
  done_ = true;
}

void AutotuneSamples::Write() {
  if (taken_ > 0 && seconds_ > 0.0) log_.Add(group_, plan_, bytes_ / seconds_);
  taken_ = 0;
  seconds_ = bytes_ = 0.0;
}

}  // namespace weir
