#include <algorithm>
#include <vector>

#include "common/log.h"
#include "coordinator/engine_impl.h"
#include "coordinator/hosts.h"
#include "weir/error.h"

// Which ranks share a host: asked once, where exchanges are to be hierarchical.

namespace weir {
namespace {

/// What one rank tells the others; a sum in which each rank fills in its own is everybody's.
struct Introduction {
  RankPlace place;
  std::int64_t allreduce = 0;  ///< Whether it wants a hierarchical one.
  std::int64_t allgather = 0;

  bool AsksLike(const Introduction& other) const {
    return allreduce == other.allreduce && allgather == other.allgather;
  }
};
static_assert(sizeof(Introduction) == 4 * sizeof(std::int64_t));

void CheckSettingsAgree(const std::vector<Introduction>& ranks) {
  const auto other = std::ranges::find_if(
      ranks, [&](const Introduction& rank) { return !rank.AsksLike(ranks.front()); });
  if (other == ranks.end()) return;
  const auto text = [](const Introduction& rank) {
    return "WEIR_HIERARCHICAL_ALLREDUCE=" + std::to_string(rank.allreduce) +
           " and WEIR_HIERARCHICAL_ALLGATHER=" + std::to_string(rank.allgather);
  };
  const auto number = static_cast<int>(other - ranks.begin());
  throw InvalidArgument("rank " + std::to_string(number) + " has " + text(*other) +
                            ", rank 0 has " + text(ranks.front()) + "; give all ranks the same",
                        {"", {0, number}, "start"});
}

}  // namespace

void EngineImpl::PlaceRanks(const Settings& settings) {
  std::vector<Introduction> ranks(static_cast<std::size_t>(size_));
  ranks[static_cast<std::size_t>(rank_)] = {.place = PlaceOf(host_, local_rank_),
                                            .allreduce = settings.hierarchical_allreduce ? 1 : 0,
                                            .allgather = settings.hierarchical_allgather ? 1 : 0};
  const auto numbers = static_cast<std::int64_t>(ranks.size() * 4);
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kAllreduce,
                        .name = std::string(kHostsName),
                        .dtype = DType::kInt64,
                        .shape = Shape({numbers}),
                        .op = ReduceOp::kSum,
                        .slots = 0};
  submission.in = submission.out = ranks.data();
  Coordinator& running = coordinator();
  running.Wait(running.Submit(running.process_sets().global(), std::move(submission)));
  CheckSettingsAgree(ranks);

  std::vector<RankPlace> places;
  for (const Introduction& rank : ranks) places.push_back(rank.place);
  const std::vector<int> hosts = HostsOf(places);
  running.process_sets().PlaceRanks(hosts);
  const std::string text = "hierarchical exchanges: ranks are " + RanksOnHosts(hosts);
  if (HostsAreAlike(hosts)) {
    if (rank_ == 0) LogInfo("{}", text);
    return;
  }
  const std::string flat = text + ", so the whole job exchanges flat; give all hosts as many";
  if (settings.strict) throw InvalidArgument("strict settings (WEIR_STRICT): " + flat);
  if (rank_ == 0) LogWarning("{}", flat);
}

}  // namespace weir
