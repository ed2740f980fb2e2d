#include "common/supervision/place.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "common/text/parse_number.h"

namespace weir::supervision {

std::optional<Place> ReadPlace(const Message& message) {
  constexpr int kMostRanks = 65535;
  Place place{.rank = message.rank,
              .ranks = 0,
              .local_rank = 0,
              .local_ranks = 0,
              .epoch = message.code,
              .host = message.host,
              .hosts = message.text};
  std::istringstream runs(message.text);
  bool here = false;
  for (std::string run; std::getline(runs, run, ',');) {
    const std::size_t colon = run.rfind(':');
    const auto count =
        colon == std::string::npos ? std::optional<int>() : ParseNumber<int>(run.substr(colon + 1));
    if (!count || *count < 1 || *count > kMostRanks - place.ranks) return {};
    if (run.substr(0, colon) == message.host) {
      place.local_rank += std::clamp(message.rank - place.ranks, 0, *count);
      place.local_ranks += *count;
      here = here || (message.rank >= place.ranks && message.rank < place.ranks + *count);
    }
    place.ranks += *count;
  }
  if (!here || message.code < 1) return {};
  return place;
}

bool InElasticJob() { return std::getenv(kElasticVariable) != nullptr; }

}  // namespace weir::supervision
