#include "common/summary/rank_places.h"

#include <fmt/core.h>

namespace weir {

std::string RankName(int process, int rank) {
  if (rank < 0) return fmt::format("process {} of the output", process);
  if (rank == process) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (process {} of the output)", rank, process);
}

std::string RankPlaces::Names(int first, int last) const {
  const int before = serves(first) ? static_cast<int>(ranks()) : 0;
  const std::string name = serves(first) ? "summation server" : "rank";
  if (RankOf(first) != first) return RankName(first, RankOf(first));  // Of one only: see Of.
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
           serves(processes[end]) == serves(processes[i]) && host_of(end) == host_of(i) &&
           RankOf(processes[i]) == processes[i] && RankOf(processes[end]) == processes[end]) {
      ++end;
    }
    text +=
        (text.empty() ? "" : ", ") + Names(processes[i], processes[end - 1]) + " on " + host_of(i);
  }
  return text;
}

}  // namespace weir
