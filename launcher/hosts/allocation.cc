#include "launcher/hosts/allocation.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <sstream>

#include "launcher/hosts/slurm_text.h"
#include "launcher/text/text_file.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

/// A count beyond an int becomes its largest: a job has fewer ranks.
int Slots(const std::vector<Host>& hosts) {
  const std::int64_t slots =
      std::accumulate(hosts.begin(), hosts.end(), std::int64_t{0},
                      [](std::int64_t sum, const Host& host) { return sum + host.slots; });
  return static_cast<int>(std::min<std::int64_t>(slots, std::numeric_limits<int>::max()));
}

std::optional<Allocation> Slurm(const Variables& variables) {
  const std::string list = "SLURM_JOB_NODELIST";
  const auto nodes = variables(list);
  if (!nodes) return std::nullopt;
  Allocation allocation{.hosts = {}, .origin = list};
  for (const std::string& name : SlurmNodes(list, *nodes)) AddHost(allocation.hosts, list, name, 1);
  const std::string per_node = "SLURM_TASKS_PER_NODE";
  if (const auto tasks = variables(per_node)) {
    const std::vector<int> counts = SlurmCounts(per_node, *tasks);
    if (counts.size() != allocation.hosts.size()) {
      throw InvalidArgument(per_node + " is '" + *tasks + "', which is for " +
                            std::to_string(counts.size()) + " hosts, and " + list + " names " +
                            std::to_string(allocation.hosts.size()));
    }
    for (std::size_t i = 0; i < counts.size(); ++i) allocation.hosts[i].slots = counts[i];
  }
  const auto ranks = variables("SLURM_NTASKS");
  allocation.ranks = ranks ? SlurmCounts("SLURM_NTASKS", *ranks).at(0) : Slots(allocation.hosts);
  return allocation;
}

std::optional<Allocation> Pbs(const Variables& variables) {
  const auto path = variables("PBS_NODEFILE");
  if (!path) return std::nullopt;
  Allocation allocation{.hosts = {}, .origin = "PBS_NODEFILE"};
  std::istringstream lines(ReadTextFile("PBS_NODEFILE", *path));
  for (std::string name; lines >> name;) AddHost(allocation.hosts, *path, name, 1);
  if (allocation.hosts.empty()) throw InvalidArgument("PBS_NODEFILE: '" + *path + "' is empty");
  allocation.ranks = Slots(allocation.hosts);
  return allocation;
}

}  // namespace

std::optional<Allocation> FindAllocation(const Variables& variables) {
  auto allocation = Slurm(variables);
  return allocation ? allocation : Pbs(variables);
}

std::optional<Allocation> FindAllocation() {
  return FindAllocation([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  });
}

}  // namespace weir::launcher
