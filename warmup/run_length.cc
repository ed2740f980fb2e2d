#include "warmup/run_length.h"

#include <fmt/core.h>

#include <algorithm>

namespace weir {
namespace {

constexpr double kEnoughSends = 10.0;
constexpr double kFewSends = 3.0;
constexpr double kLowest = 0.001;
constexpr double kHighest = 0.25;

/// Returns nothing where an entry is sent often enough. `was`: "is" or "was"; `advice`: about the
/// density.
std::string Warning(const std::string& owner, std::int64_t steps, double density, const char* was,
                    const std::string& advice) {
  const double sends = static_cast<double>(steps) * density;
  if (steps < 1 || sends >= kFewSends) return {};
  return fmt::format(
      "the run {0} short for '{1}': in {2} steps at density {3:.2g} an entry {0} sent {4:.2g} "
      "times, and below {5:.2g} times training stays clearly behind dense training. Give "
      "density=auto {6}, or make more steps",
      was, owner, steps, density, sends, kFewSends, advice);
}

}  // namespace

double DensityForRun(std::int64_t steps) {
  return std::clamp(kEnoughSends / static_cast<double>(steps), kLowest, kHighest);
}

std::string ShortRunWarning(const std::string& owner, std::int64_t steps, double density) {
  return Warning(owner, steps, density, "is", fmt::format("(here {:.2g})", DensityForRun(steps)));
}

std::string EndedShortWarning(const std::string& owner, std::int64_t steps, double density) {
  return Warning(owner, steps, density, "was",
                 fmt::format("and steps={} (that is {:.2g})", steps, DensityForRun(steps)));
}

}  // namespace weir
