#include "common/summary/job_totals.h"

#include <algorithm>
#include <utility>

#include "common/summary/dense_bytes.h"
#include "weir/error.h"

namespace weir {

void JobTotals::OnAttach(int process) {
  Process& one = processes_[static_cast<std::size_t>(process)];
  one.before = EnginesOf(one);
  one.now.clear();
  one.epoch = 0;
}

void JobTotals::OnPlace(int process, int epoch) {
  Process& one = processes_[static_cast<std::size_t>(process)];
  one.epoch = epoch;
  one.took_part = true;
  ++ranks_[epoch];
}

void JobTotals::OnTotals(int process, std::string text) {
  processes_[static_cast<std::size_t>(process)].now = std::move(text);
}

std::vector<JobTotals::Engine> JobTotals::EnginesOf(const Process& process) {
  std::vector<Engine> engines = process.before;
  if (process.now.empty()) return engines;
  try {
    RankTotals totals = ParseRankTotals(process.now);
    if (!engines.empty() && engines.back().epoch == process.epoch) {
      engines.back().totals.Merge(totals);
    } else {
      engines.push_back({.epoch = process.epoch, .totals = std::move(totals)});
    }
  } catch (const Corrupt&) {
    return engines;
  }
  return engines;
}

std::vector<RankTotals> JobTotals::All() const {
  std::vector<RankTotals> all;
  all.reserve(processes_.size());
  for (const Process& process : processes_) {
    RankTotals sum;
    for (const Engine& engine : EnginesOf(process)) sum.Merge(engine.totals);
    all.push_back(std::move(sum));
  }
  return all;
}

ElasticTotals JobTotals::Elastic() const {
  struct Epoch {
    std::uint64_t steps = 0;
    std::int64_t duration_ns = 0;
  };
  std::map<int, Epoch> epochs;
  ElasticTotals all;
  for (const Process& process : processes_) {
    double dense = 0.0;
    for (const auto& [epoch, totals] : EnginesOf(process)) {
      const auto ranks = ranks_.find(epoch);
      if (ranks == ranks_.end()) continue;
      dense += DenseAllreduceBytes(totals.dense_bytes, ranks->second);
      Epoch& made = epochs[epoch];
      if (totals.steps() > made.steps) made = {totals.steps(), totals.duration_ns};
    }
    all.took_part.push_back(process.took_part);
    all.dense_bytes.push_back(dense);
  }
  for (const auto& [number, epoch] : epochs) {
    all.steps += epoch.steps;
    all.duration_ns += epoch.duration_ns;
  }
  for (const auto& [number, ranks] : ranks_) all.most_ranks = std::max(all.most_ranks, ranks);
  return all;
}

}  // namespace weir
