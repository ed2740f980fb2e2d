#include "metrics/prometheus/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace weir {
namespace {

std::map<std::string, double> Values() {
  std::map<std::string, double> values;
  for (const auto& family : ProcessMetrics()) {
    const auto& metric = family.metric.at(0);
    values[family.name] =
        family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  }
  return values;
}

TEST(ProcessMetrics, AllOfThemAreThere) {
  std::vector<std::string> names;
  for (const auto& [name, value] : Values()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"process_cpu_seconds_total", "process_max_fds",
                                             "process_open_fds", "process_resident_memory_bytes",
                                             "process_start_time_seconds",
                                             "process_virtual_memory_bytes"}));
}

TEST(ProcessMetrics, OpenFilesAreCounted) {
  const double before = Values().at("process_open_fds");
  std::list<UniqueFd> opened;
  for (int i = 0; i < 7; ++i) opened.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Values().at("process_open_fds"), before + 7);
}

TEST(ProcessMetrics, MemoryGrowsWithWhatIsTouched) {
  const double before = Values().at("process_resident_memory_bytes");
  constexpr std::size_t kBytes = std::size_t{64} << 20, kHalf = kBytes / 2;
  std::vector<char> memory(kBytes, 'x');
  const auto after = Values();
  EXPECT_GE(after.at("process_resident_memory_bytes"), before + kHalf);
  EXPECT_GE(after.at("process_virtual_memory_bytes"), after.at("process_resident_memory_bytes"));
  EXPECT_EQ(memory.back(), 'x');
}

/// CPU time of all threads of the process, by the kernel's clock.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(ProcessMetrics, CpuTimePassesWithWork) {
  constexpr double kTicks = 0.03;  // It counts in hundredths, user and system time apart.
  const double begin = CpuSeconds();
  const double before = Values().at("process_cpu_seconds_total");
  volatile unsigned work = 0;
  while (CpuSeconds() < begin + 0.2) work = work + 1;
  const double after = Values().at("process_cpu_seconds_total");
  EXPECT_GE(after, before + 0.2 - kTicks);
  EXPECT_LE(after, CpuSeconds() + kTicks);
}

TEST(ProcessMetrics, TheProcessStartedNotLongAgo) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double start = Values().at("process_start_time_seconds");
  EXPECT_LE(start, now + 1);
  EXPECT_GE(start, now - 24 * 60 * 60);
}

}  // namespace
}  // namespace weir
