#include "launcher/options/setting_flags.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/settings/settings_table.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

std::vector<SettingFlag> MakeFlags() {
  return {
      {"--fusion-threshold-mb", "", "params", "fusion-threshold-mb", "FUSION_THRESHOLD", "", true},
      {"--cycle-time-ms", "", "params", "cycle-time-ms", "CYCLE_TIME"},
      {"--cache-capacity", "", "params", "cache-capacity", "CACHE_CAPACITY"},
      {"--hierarchical-allreduce", "--no-hierarchical-allreduce", "params",
       "hierarchical-allreduce", "HIERARCHICAL_ALLREDUCE"},
      {"--hierarchical-allgather", "--no-hierarchical-allgather", "params",
       "hierarchical-allgather", "HIERARCHICAL_ALLGATHER"},
      {"--transport", "", "params", "transport", "TRANSPORT"},
      {"--gpu-transport", "", "params", "gpu-transport", "GPU_TRANSPORT"},
      {"--compression", "", "params", "compression", "COMPRESSION"},
      {"--plan-filename", "", "params", "plan-filename", "PLAN_FILENAME"},
      {"--autotune", "--no-autotune", "autotune", "enabled", "AUTOTUNE"},
      {"--autotune-log-file", "", "autotune", "log-file", "AUTOTUNE_LOG"},
      {"--autotune-warmup-samples", "", "autotune", "warmup-samples", "AUTOTUNE_WARMUP_SAMPLES"},
      {"--autotune-steps-per-sample", "", "autotune", "steps-per-sample",
       "AUTOTUNE_STEPS_PER_SAMPLE"},
      {"--autotune-bayes-opt-max-samples", "", "autotune", "bayes-opt-max-samples",
       "AUTOTUNE_BAYES_OPT_MAX_SAMPLES"},
      {"--timeline-filename", "", "timeline", "filename", "TIMELINE"},
      {"--timeline-mark-cycles", "--no-timeline-mark-cycles", "timeline", "mark-cycles",
       "TIMELINE_MARK_CYCLES"},
      {"--record", "", "metrics", "record", "RECORD"},
      {"--flight-recording", "", "metrics", "flight-recording", "FLIGHT_RECORDING"},
      {"--batch-size", "", "metrics", "batch-size", "BATCH_SIZE"},
      {"--explain", "--no-explain", "metrics", "explain", "EXPLAIN"},
      {"--summary", "--no-summary", "metrics", "summary", "SUMMARY"},
      {"--stall-check", "--no-stall-check", "stall-check", "enabled", "STALL_CHECK"},
      {"--stall-check-warning-time-seconds", "", "stall-check", "warning-time-seconds",
       "STALL_CHECK_TIME_SECONDS"},
      {"--heartbeat-timeout", "", "stall-check", "heartbeat-timeout", "HEARTBEAT_TIMEOUT"},
      {"--stall-check-shutdown-time-seconds", "", "stall-check", "shutdown-time-seconds",
       "STALL_SHUTDOWN_TIME_SECONDS"},
      {"--log-level", "", "logging", "level", "LOG_LEVEL"},
      {"--log-with-timestamp", "--log-without-timestamp", "logging", "with-timestamp",
       "LOG_TIMESTAMPS", "hide-timestamp"},
      {"--verify-every", "", "params", "verify-every", "VERIFY_EVERY"},
      {"--metrics-port", "", "metrics", "port", "METRICS_PORT"},
      {"--strict", "--no-strict", "params", "strict", "STRICT"},
  };
}

std::string MegabytesToBytes(const std::string& where, const std::string& text) {
  char* end = nullptr;
  const double megabytes = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(megabytes >= 0 && megabytes <= 1048576)) {
    throw InvalidArgument(where + " is '" + text + "'; give MiB, 0 to 1048576");
  }
  return std::to_string(std::llround(megabytes * 1048576));
}

}  // namespace

std::span<const SettingFlag> SettingFlags() {
  static const std::vector<SettingFlag> flags = MakeFlags();
  return flags;
}

std::string VariableValue(const SettingFlag& flag, const std::string& where,
                          const std::string& text) {
  std::string value = flag.megabytes ? MegabytesToBytes(where, text) : text;
  const auto row = std::ranges::find(SettingTable(), flag.setting, &SettingRow::name);
  WEIR_CHECK_MSG(row != SettingTable().end(), flag.setting);
  Settings scratch;
  Parse(*row, where, value, scratch);
  return value;
}

}  // namespace weir::launcher
