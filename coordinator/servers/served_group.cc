#include "coordinator/servers/served_group.h"

#include <utility>

#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/servers/asynchronous_bucket.h"
#include "coordinator/servers/synchronous_bucket.h"
#include "weir/error.h"

namespace weir {
namespace {

ServedBucket::Partition MakePartition(const GroupPlan& plan, const GradientGroupSpec& spec,
                                      std::size_t p, const ServerPlace& place) {
  const Partition& partition = plan.partitions[p];
  const Variant& variant = plan.variants[partition.variant];
  ServedBucket::Partition served{
      .name = partition.name,
      .elements = partition.elements,
      .parameter_group = spec.tensors[partition.tensor].parameter_group,
      .reader = MakeCompressor(variant.options, {partition.name, partition.shape}),
      .answering = {}};
  const int answers = variant.route.max_staleness > 0 ? place.workers : 1;
  for (int a = 0; a < answers; ++a) {
    served.answering.push_back(
        MakeCompressor(AnswerOptions(variant.given), {partition.name, partition.shape}));
  }
  return served;
}

std::unique_ptr<ServedBucket> MakeBucket(const GroupPlan& plan, const GradientGroupSpec& spec,
                                         std::size_t b, const ServerPlace& place) {
  const LaidOutBucket& planned = plan.layout.buckets[b];
  const Variant& variant = plan.variants[plan.VariantOfBucket(b)];
  ServedBucket::Description bucket{
      .name = spec.name + "/" + plan.NameOfBucket(b),
      .identity = {.bucket = static_cast<std::uint32_t>(b), .codec = variant.codec},
      .schedule = variant.schedule,
      .parameter_groups = ParameterGroups(spec),
      .workers = place.workers,
      .partitions = {}};
  for (const std::uint32_t p : planned.tensors) {
    bucket.identity.elements += plan.partitions[p].elements;
    if (ServerOf(p, place.servers) != place.server) continue;
    bucket.partitions.push_back(MakePartition(plan, spec, p, place));
  }
  if (bucket.partitions.empty()) return nullptr;
  if (variant.route.max_staleness == 0) {
    return std::make_unique<SynchronousBucket>(std::move(bucket));
  }
  return std::make_unique<AsynchronousBucket>(std::move(bucket), variant.route.max_staleness);
}

}  // namespace

ServedGroup MakeServedGroup(const GroupDescription& description, const ServerPlace& place) {
  ServedGroup group{
      .name = description.spec.name, .first_number = description.first_number, .buckets = {}};
  Settings settings;
  settings.fusion_threshold_bytes = description.fusion_threshold_bytes;
  try {
    const GroupPlan plan = MakeGroupPlan(description.spec, settings);
    for (std::size_t b = 0; b < plan.layout.buckets.size(); ++b) {
      const bool served =
          plan.variants[plan.VariantOfBucket(b)].route.compressed == WireRoute::kPushPull;
      group.buckets.push_back(served ? MakeBucket(plan, description.spec, b, place) : nullptr);
    }
  } catch (const InvalidArgument& error) {
    throw Corrupt("the gradient group '" + description.spec.name +
                  "' cannot be served: " + error.what());
  }
  return group;
}

}  // namespace weir
