#include "benchmarks/cpu_time.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace weir::bench {

std::int64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

std::int64_t CpuNsOfThreadsNamed(const std::string& name) {
  std::int64_t total = 0;
  bool found = false;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(thread.path() / "comm"), comm);
    if (comm != name) continue;
    std::int64_t on_cpu = 0;
    std::ifstream(thread.path() / "schedstat") >> on_cpu;
    total += on_cpu;
    found = true;
  }
  if (!found) throw std::runtime_error("no thread of this process is called " + name);
  return total;
}

}  // namespace weir::bench
