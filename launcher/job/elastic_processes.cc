#include "launcher/job/elastic_processes.h"

#include "common/summary/rank_places.h"

namespace weir::launcher {

int ElasticProcesses::RankOf(int process) const {
  const ElasticProcess& p = At(process);
  return p.rank >= 0 || p.later ? p.rank : process;
}

std::string ElasticProcesses::NameOf(int process) const {
  return RankName(process, RankOf(process)) + " on " + At(process).host;
}

std::string ElasticProcesses::NamesOf(const std::vector<int>& processes) const {
  std::string text;
  for (const int process : processes) text += (text.empty() ? "" : ", ") + NameOf(process);
  return text;
}

}  // namespace weir::launcher
