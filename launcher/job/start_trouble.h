#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::launcher {

/// Why ranks do not start, written to stderr by a process that knows. Hydra passes it to weirrun.
struct StartTrouble {
  std::string host;  ///< As in -H; or empty
  int rank = -1;     ///< and the rank instead.
  std::string why;
};

/// Writes one line, without its end.
std::string TroubleLine(const StartTrouble& trouble);

/// Reads such a line; returns nothing for every other line.
std::optional<StartTrouble> ParseTrouble(std::string_view line);

}  // namespace weir::launcher
