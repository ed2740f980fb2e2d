#include "coordinator/groups/rank_servers.h"

#include <algorithm>

#include "compression/make_compressor.h"
#include "compression/options/alternatives.h"
#include "compression/options/answer_options.h"

namespace weir {
namespace {

bool MayBeServed(const Variant& variant) {
  return std::ranges::find(variant.alternatives, BucketForm::kServed) != variant.alternatives.end();
}

}  // namespace

RankServers::RankServers(const GroupPlan& plan, const ProcessSet& set, int dedicated)
    : plan_(plan),
      set_(set),
      dedicated_(dedicated > 0),
      follows_plans_(std::ranges::any_of(plan.variants, MayBeServed)),
      served_(plan.partitions.size()),
      answering_(plan.partitions.size()) {
  const int servers = dedicated > 0 ? dedicated : set.size();
  const std::vector<int> balanced = BalancedServers(plan.partitions, servers);
  for (std::size_t p = 0; p < plan.partitions.size(); ++p) {
    servers_.push_back(MayBeServed(VariantOf(p)) ? balanced[p] : ServerOf(p, servers));
  }
}

bool RankServers::IsOwn(std::size_t partition) const {
  return !dedicated_ && servers_[partition] == set_.transport().rank();
}

void RankServers::Place(std::size_t partition, GradientSlice& slice) {
  slice.server = servers_[partition];
  const RouteSettings& route = VariantOf(partition).route;
  const bool by_ranks = route.compressed == WireRoute::kPushPull && route.max_staleness == 0;
  served_[partition] = by_ranks && !dedicated_;
  if (served_[partition] && IsOwn(partition)) Make(partition, slice);
}

void RankServers::Follow(std::size_t partition, BucketForm form, GradientSlice& slice) {
  if (!MayBeServed(VariantOf(partition))) return;
  const bool serves = form == BucketForm::kServed;
  if (serves == served_[partition]) return;
  if (IsOwn(partition) && serves) Make(partition, slice);
  if (IsOwn(partition) && !serves) {
    HandBack(partition);
    answering_[partition].reset();
    slice.answering = nullptr;
  }
  served_[partition] = serves;
}

void RankServers::Make(std::size_t partition, GradientSlice& slice) {
  const Partition& of = plan_.partitions[partition];
  answering_[partition] = MakeCompressor(
      AnswerOptions(ResolveAuto(VariantOf(partition).given, false)), {of.name, of.shape});
  slice.answering = answering_[partition].get();
}

void RankServers::HandBack(std::size_t partition) {
  Compressor& own = *plan_.compressors[partition];
  const auto unsent = own.State();
  // Answers are means over the ranks; what a rank sends is divided by their number.
  const auto ranks = static_cast<float>(set_.size());
  for (const TensorCompression::StateArray& unanswered : answering_[partition]->State()) {
    const auto same =
        std::ranges::find(unsent, unanswered.name, &TensorCompression::StateArray::name);
    if (same == unsent.end()) continue;
    for (std::size_t i = 0; i < same->values.size(); ++i) {
      same->values[i] += ranks * unanswered.values[i];
    }
  }
  own.Restored();
}

}  // namespace weir
