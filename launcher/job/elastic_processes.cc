#include "launcher/job/elastic_processes.h"

namespace weir::launcher {

std::string ElasticProcesses::NameOf(int process) const {
  const ElasticProcess& p = At(process);
  return "rank " + std::to_string(p.rank >= 0 ? p.rank : process) + " on " + p.host;
}

std::string ElasticProcesses::NamesOf(const std::vector<int>& processes) const {
  std::string text;
  for (const int process : processes) text += (text.empty() ? "" : ", ") + NameOf(process);
  return text;
}

}  // namespace weir::launcher
