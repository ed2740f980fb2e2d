#include "launcher/hosts/rank_places.h"

namespace weir::launcher {

std::string RankPlaces::Names(int first, int last) const {
  const int before = serves(first) ? static_cast<int>(ranks()) : 0;
  const std::string name = serves(first) ? "summation server" : "rank";
  if (first == last) return name + " " + std::to_string(first - before);
  return name + "s " + std::to_string(first - before) + "-" + std::to_string(last - before);
}

std::string RankPlaces::Of(const std::vector<int>& processes) const {
  const auto host_of = [&](std::size_t i) -> const std::string& {
    return host(static_cast<std::size_t>(processes[i]));
  };
  std::string text;
  for (std::size_t i = 0, end = 0; i < processes.size(); i = end) {
    end = i + 1;
    while (end < processes.size() && processes[end] == processes[end - 1] + 1 &&
           serves(processes[end]) == serves(processes[i]) && host_of(end) == host_of(i)) {
      ++end;
    }
    text +=
        (text.empty() ? "" : ", ") + Names(processes[i], processes[end - 1]) + " on " + host_of(i);
  }
  return text;
}

}  // namespace weir::launcher
