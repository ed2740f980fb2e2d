#include "launcher/rank_places.h"

namespace weir::launcher {

std::string Places(const std::vector<std::string>& hosts, const std::vector<int>& ranks) {
  const auto host_of = [&](std::size_t i) -> const std::string& {
    return hosts[static_cast<std::size_t>(ranks[i])];
  };
  std::string text;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1 && host_of(end) == host_of(i)) {
      ++end;
    }
    const bool one = end == i + 1;
    text += (text.empty() ? "" : ", ") + std::string(one ? "rank " : "ranks ") +
            std::to_string(ranks[i]) + (one ? "" : "-" + std::to_string(ranks[end - 1])) + " on " +
            host_of(i);
  }
  return text;
}

std::string Place(const std::vector<std::string>& hosts, int rank) { return Places(hosts, {rank}); }

}  // namespace weir::launcher
