#include "coordinator/engine/programs_choice.h"

#include <algorithm>
#include <string>

#include "common/log.h"
#include "common/settings/compression_text.h"
#include "common/settings/strict.h"

namespace weir {
namespace {

/// True if texts mean the same: a list with or without brackets, a number in any spelling.
bool MeansTheSame(const std::string& a, const std::string& b) {
  const OptionRule numbers = RealListRule{{-1e300, 1e300}};
  const auto of_a = ParseValue(numbers, a);
  return a == b || (of_a && of_a == ParseValue(numbers, b));
}

}  // namespace

void CheckProgramsChoice(const std::string& owner, const CompressionOptions& choice,
                         const Settings& settings, bool speaks) {
  const CompressionOptions chosen = WithoutPrefix(choice);
  // A program may copy the settings' options into its choice, and add to them.
  const bool heeded =
      std::ranges::all_of(WithoutPrefix(settings.compression), [&](const auto& asked) {
        const auto found = chosen.find(asked.first);
        return found != chosen.end() && MeansTheSame(found->second, asked.second);
      });
  if (heeded) return;
  const std::string warning =
      "WEIR_COMPRESSION (weirrun --compression), which is " +
      CompressionText(settings.compression) + ", has no effect on '" + owner +
      "', for which the program itself chooses " +
      (chosen.empty() ? "none of the engine's compressors" : CompressionText(chosen)) +
      "; leave one of the two out";
  if (settings.strict) throw StrictError(warning);
  if (speaks) LogWarning("{}", warning);
}

}  // namespace weir
