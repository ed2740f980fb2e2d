#include "launcher/job/start_trouble.h"

#include "common/text/parse_number.h"

namespace weir::launcher {
namespace {

constexpr std::string_view kHost = "weirrun: no start on host ";
constexpr std::string_view kRank = "weirrun: no start of rank ";
static_assert(kHost.size() == kRank.size());

}  // namespace

std::string TroubleLine(const StartTrouble& trouble) {
  const bool of_host = !trouble.host.empty();
  return std::string(of_host ? kHost : kRank) +
         (of_host ? trouble.host : std::to_string(trouble.rank)) + ": " + trouble.why;
}

std::optional<StartTrouble> ParseTrouble(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const bool of_host = line.starts_with(kHost);
  if (!of_host && !line.starts_with(kRank)) return std::nullopt;
  line.remove_prefix(kHost.size());
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view who = line.substr(0, colon);
  StartTrouble trouble{.why = std::string(line.substr(colon + 2))};
  if (of_host) {
    trouble.host = who;
  } else if (const auto rank = ParseNumber<int>(who)) {
    trouble.rank = *rank;
  } else {
    return std::nullopt;
  }
  return trouble;
}

}  // namespace weir::launcher
