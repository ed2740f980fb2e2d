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
  for (std::size_t p = 0; p < plan.partitions.size(); ++p) {
    servers_.push_back(ServerOf(p, servers));
  }
}

bool RankServers::IsOwn(std::size_t partition) const {
  return !dedicated_ && servers_[partition] == set_.transport().rank();
}

bool RankServers::TakesUnanswered(std::size_t partition) const {
  if (served_[partition]) return false;
  const auto any = static_cast<int>(partition % static_cast<std::size_t>(set_.size()));
  return dedicated_ ? any == set_.transport().rank() : IsOwn(partition);
}

void RankServers::Place(std::size_t partition, GradientSlice& slice) {
  slice.server = servers_[partition];
  const RouteSettings& route = VariantOf(partition).route;
  const bool by_ranks = route.compressed == WireRoute::kPushPull && route.max_staleness == 0;
  served_[partition] = by_ranks && !dedicated_;
  if (!served_[partition] || !IsOwn(partition)) return;
  Make(partition);
  slice.answering = answering_[partition].get();
}

void RankServers::Follow(std::size_t partition, BucketForm form, bool empty, GradientSlice& slice) {
  if (!MayBeServed(VariantOf(partition))) return;
  served_[partition] = form == BucketForm::kServed;
  if (!IsOwn(partition)) return;
  std::unique_ptr<Compressor>& answering = answering_[partition];
  if (served_[partition] && !answering) Make(partition);
  if (!served_[partition] && answering && !empty) {
    HandBack(partition);
    answering.reset();
  }
  slice.answering = served_[partition] ? answering.get() : nullptr;
}

void RankServers::Make(std::size_t partition) {
  const Partition& of = plan_.partitions[partition];
  answering_[partition] = MakeCompressor(
      AnswerOptions(ResolveAuto(VariantOf(partition).given, false)), {of.name, of.shape});
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
