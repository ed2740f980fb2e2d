#include "compression/programs_choice.h"

#include <string>

#include "common/log.h"
#include "common/strict.h"

namespace weir {
void CheckProgramsChoice(const CompressionOptions& choice, const Settings& settings, int rank) {
  const CompressionOptions asked = WithoutPrefix(settings.compression);
  if (asked.empty() || asked == WithoutPrefix(choice)) return;
  const std::string chosen = choice.empty() ? "one of its own" : CompressionText(choice);
  const std::string warning = "WEIR_COMPRESSION (weirrun --compression), which is " +
                              CompressionText(asked) +
                              ", has no effect on an optimizer for which the program itself "
                              "chooses: " +
                              chosen + "; leave one of the two out";
  if (settings.strict) throw StrictError(warning);
  if (rank == 0) LogWarning("{}", warning);
}

}  // namespace weir
