#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::launcher {

/// Why ranks do not start, said by who knows it, on stderr: Hydra passes the line on to weirrun.
struct StartTrouble {
  std::string host;  ///< As -H names it; or empty
  int rank = -1;     ///< and the rank instead.
  std::string why;
};

/// One line, without its end.
std::string TroubleLine(const StartTrouble& trouble);

/// The reverse; nothing for every other line.
std::optional<StartTrouble> ParseTrouble(std::string_view line);

}  // namespace weir::launcher
