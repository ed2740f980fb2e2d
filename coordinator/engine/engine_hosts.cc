#include <vector>

#include "common/log.h"
#include "common/settings/strict.h"
#include "coordinator/engine/engine_impl.h"
#include "coordinator/work/hosts.h"

// Finds the ranks that share a host, if exchanges of the whole job or of a group of
// gradients are to be hierarchical.

namespace weir {

std::vector<int> EngineImpl::AskForHosts(ProcessSet& set, const std::string& name) {
  // A sum in which each rank fills in its own value gives all of them to every rank.
  std::vector<RankLocation> ranks(static_cast<std::size_t>(size_));
  static_assert(sizeof(RankLocation) == 2 * sizeof(std::int64_t));
  ranks[static_cast<std::size_t>(rank_)] = LocationOf(host_, local_rank_);
  const Settings& settings = coordinator().settings();
  Submission submission;
  submission.request = {
      .kind = RequestKind::kAllreduce,
      .name = name,
      .dtype = DType::kInt64,
      .shape = Shape({2 * static_cast<std::int64_t>(size_)}),
      .op = ReduceOp::kSum,
      .settings = {{"WEIR_HIERARCHICAL_ALLREDUCE", settings.hierarchical_allreduce ? "1" : "0"},
                   {"WEIR_HIERARCHICAL_ALLGATHER", settings.hierarchical_allgather ? "1" : "0"}},
      .slots = 0};
  submission.tensors = {
      {ranks.data(), ranks.data(), submission.request.shape.elements(), DType::kInt64}};
  Coordinator& running = coordinator();
  // A rank that has neither setting never comes here.
  running.WaitForStart(running.Submit(set, std::move(submission)));
  return HostsOf(ranks);
}

void EngineImpl::GoByHosts(const Settings& settings) {
  const std::vector<int> hosts =
      AskForHosts(coordinator().process_sets().global(), std::string(kHostsName));
  coordinator().process_sets().SetHosts(hosts);

  const std::string where = "ranks are " + RanksOnHosts(hosts);
  if (HostGrid::Of(hosts, rank_)) {
    if (rank_ == 0) LogInfo("hierarchical exchanges: {}", where);
    return;
  }
  const std::string flat = where + ", so the whole job exchanges flat";
  if (HostsAreAlike(hosts)) {  // A hierarchy would change nothing.
    if (rank_ == 0) LogInfo("{}", flat);
    return;
  }
  if (settings.strict) {
    throw StrictError(flat + "; give all hosts as many", {"", {rank_}, "start"});
  }
  if (rank_ == 0) LogWarning("{}; give all hosts as many", flat);
}

}  // namespace weir
