#include "warmup/run_length.h"

#include <fmt/core.h>

#include <algorithm>

namespace weir {
namespace {

constexpr double kEnoughSends = 10.0;
constexpr double kFewSends = 3.0;
constexpr double kLowest = 0.001;
constexpr double kHighest = 0.25;

}  // namespace

double DensityForRun(std::int64_t steps) {
  return std::clamp(kEnoughSends / static_cast<double>(steps), kLowest, kHighest);
}

std::string EndedShortWarning(const std::string& owner, std::int64_t steps, double density) {
  const double sends = static_cast<double>(steps) * density;
  if (steps < 1 || sends >= kFewSends) return {};
  return fmt::format(
      "the run was short for '{}': in {} steps at density {:.2g} an entry was sent {:.2g} times, "
      "and below {:.2g} times training stays clearly behind dense training. Give density=auto and "
      "steps={} (that is {:.2g}), or make more steps",
      owner, steps, density, sends, kFewSends, steps, DensityForRun(steps));
}

std::string ShortRunWarning(const std::string& owner, std::int64_t steps, double density) {
  const double sends = static_cast<double>(steps) * density;
  if (steps < 1 || sends >= kFewSends) return {};
  return fmt::format(
      "the run is short for '{}': in {} steps at density {:.2g} an entry is sent {:.2g} times, and "
      "below {:.2g} times training stays clearly behind dense training. Give density=auto (here "
      "{:.2g}), or make more steps",
      owner, steps, density, sends, kFewSends, DensityForRun(steps));
}

}  // namespace weir
