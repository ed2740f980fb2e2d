// Slurm's lists of nodes and counts, and the allocation that they make.
#include "launcher/hosts/slurm_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "launcher/hosts/allocation.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

using launcher::Allocation;
using launcher::HostsText;

constexpr std::size_t kMostHosts = 16384;
constexpr std::size_t kFewHosts = 300;  // Whether one comes twice takes quadratic time.

/// Whether it is a list of a few nodes.
bool CheckLists(const std::string& text) {
  std::vector<std::string> nodes;
  if (Accepts<InvalidArgument>([&] { nodes = launcher::SlurmNodes("X", text); })) {
    WEIR_CHECK(!nodes.empty() && nodes.size() <= kMostHosts);
    for (const std::string& node : nodes) WEIR_CHECK(!node.empty());
  }
  std::vector<int> counts;
  if (Accepts<InvalidArgument>([&] { counts = launcher::SlurmCounts("X", text); })) {
    WEIR_CHECK(!counts.empty() && counts.size() <= kMostHosts && std::ranges::min(counts) >= 1);
  }
  return !nodes.empty() && nodes.size() <= kFewHosts;
}

/// A line each for the nodes, the tasks on each of them, and all tasks.
void CheckAllocation(const std::string& text) {
  std::map<std::string, std::string> variables;
  std::string_view rest = text;
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS"}) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) variables[name] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto value = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  std::optional<Allocation> allocation;
  if (!Accepts<InvalidArgument>([&] { allocation = launcher::FindAllocation(value); }) ||
      !allocation)
    return;
  WEIR_CHECK(allocation->ranks >= 1 && !allocation->hosts.empty());
  const std::string hosts = HostsText(allocation->hosts);
  WEIR_CHECK_MSG(HostsText(launcher::ParseHosts(hosts)) == hosts,
                 "-H takes what an allocation names");
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  const std::string text = Input(bytes).Text();
  CheckLists(text);
  if (CheckLists(text.substr(0, text.find('\n')))) CheckAllocation(text);
}

std::vector<Bytes> Seeds() {
  return {Seed({}, "n[01-03,7],gpu-5\n2(x4),1\n9"), Seed({}, "r[1-2]n[098-101].lan\n4(x8)"),
          Seed({}, "a,b"), Seed({}, "2(x3),1"), Seed({}, "n[0-16383]")};
}

}  // namespace weir::fuzz
