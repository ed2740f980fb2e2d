#include "metrics/prometheus/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "metrics/prometheus/family_of.h"

namespace weir {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// Fields of /proc/self/stat (proc(5)).
struct ProcessStat {
  double cpu_seconds = 0;
  double start_seconds = 0;  ///< Seconds from the boot to the start.
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

std::optional<ProcessStat> ReadStat() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The program's name may contain spaces and brackets.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0, start = 0, virtual_bytes = 0, resident_pages = 0;
  fields >> user >> system;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  fields >> start >> virtual_bytes >> resident_pages;
  if (!fields) return std::nullopt;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ProcessStat{.cpu_seconds = (user + system) / ticks,
                     .start_seconds = start / ticks,
                     .virtual_bytes = virtual_bytes,
                     .resident_bytes = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

/// Returns seconds since 1970.
double BootTime() {
  timespec wall{}, up{};
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_BOOTTIME, &up);
  return static_cast<double>(wall.tv_sec - up.tv_sec) +
         static_cast<double>(wall.tv_nsec - up.tv_nsec) * 1e-9;
}

std::optional<double> OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  // Without the descriptor of the folder being read.
  return static_cast<double>(std::ranges::distance(files) - 1);
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics() {
  std::vector<MetricFamily> families;
  const auto gauge = [&](const char* name, const char* help, double value) {
    families.push_back(FamilyOf::One(MetricType::Gauge, name, help, value));
  };
  if (const auto stat = ReadStat()) {
    families.push_back(FamilyOf::One(MetricType::Counter, "process_cpu_seconds_total",
                                     "User and system CPU time of the rank's process.",
                                     stat->cpu_seconds));
    gauge("process_start_time_seconds", "When the process started, since 1970.",
          BootTime() + stat->start_seconds);
    gauge("process_virtual_memory_bytes", "Virtual memory of the process.", stat->virtual_bytes);
    gauge("process_resident_memory_bytes", "Resident memory of the process.", stat->resident_bytes);
  }
  if (const auto files = OpenFiles()) {
    gauge("process_open_fds", "Open file descriptors of the process.", *files);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    gauge("process_max_fds", "How many the process may have.", static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace weir
