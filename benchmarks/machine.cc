#include "benchmarks/machine.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>

namespace weir::bench {
namespace {

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

/// The setting is the bracketed word of "always [madvise] never".
std::string HugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return {};
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.cpu = CpuModel();
  machine.huge_pages = HugePages();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) machine.cores = CPU_COUNT(&allowed);
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0) {
    machine.memory_gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1 << 30);
  }
  utsname name{};
  if (uname(&name) == 0) machine.kernel = std::string(name.sysname) + " " + name.release;
  return machine;
}

std::string Describe(const Machine& machine) {
  char memory[32];
  std::snprintf(memory, sizeof(memory), "%.0f GiB", machine.memory_gib);
  return machine.cpu + ", " + std::to_string(machine.cores) + " cores, " + memory + ", " +
         machine.kernel + ", huge pages: " + machine.huge_pages;
}

}  // namespace weir::bench
