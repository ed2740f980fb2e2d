#include "coordinator/plan/group_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "common/text/exact_text.h"
#include "compression/make_compressor.h"
#include "compression/options/alternatives.h"
#include "compression/options/route_options.h"
#include "compression/options/tensor_options.h"
#include "coordinator/plan/served_state.h"
#include "ops/arrays/reduce.h"
#include "weir/error.h"

namespace weir {
namespace {

void CheckSpec(const GradientGroupSpec& spec) {
  if (spec.tensors.empty()) {
    throw InvalidArgument("the gradient group '" + spec.name + "' has no tensors");
  }
  std::set<std::string> names;
  for (const GradientSpec& tensor : spec.tensors) {
    const ErrorContext where{tensor.name, {}, "register"};
    if (tensor.name.empty()) {
      throw InvalidArgument("a tensor of the gradient group '" + spec.name + "' has no name",
                            where);
    }
    if (!names.insert(tensor.name).second) {
      throw InvalidArgument(
          "the gradient group '" + spec.name + "' has two tensors named '" + tensor.name + "'",
          where);
    }
    if (!IsFloatingPoint(tensor.dtype)) {
      throw InvalidArgument("gradient '" + tensor.name + "' must be floating point, not " +
                                std::string(Name(tensor.dtype)),
                            where);
    }
    if (tensor.parameter_group < 0) {
      throw InvalidArgument("gradient '" + tensor.name + "' has the negative parameter group " +
                                std::to_string(tensor.parameter_group),
                            where);
    }
  }
}

void CheckGroupReduction(const GradientGroupSpec& spec, const GroupPlan& plan) {
  if (spec.op != ReduceOp::kAverage && spec.op != ReduceOp::kSum) {
    throw InvalidArgument("gradients of '" + spec.name + "' are averaged or summed, not " +
                          std::string(Name(spec.op)));
  }
  CheckReduction(DType::kFloat32, {spec.op, spec.prescale, spec.postscale});
  if (spec.op == ReduceOp::kAverage && spec.prescale == 1.0 && spec.postscale == 1.0) return;
  for (std::size_t i = 0; i < plan.compressors.size(); ++i) {
    const Variant& variant = plan.variants[plan.partitions[i].variant];
    const bool by_servers = variant.route.compressed == WireRoute::kPushPull;
    if (!by_servers && (variant.plain || plan.compressors[i]->summable())) continue;
    throw InvalidArgument("gradients of '" + spec.name + "' that are compressed by '" +
                          variant.options.compressor() +
                          "' are averaged; a sum and factors need a compressor of whole arrays "
                          "(dense, fp16, bf16) and no servers (route=push_pull)");
  }
}

/// State belongs to names. Names of partitions and servers are made up here.
void CheckPartitionNames(const GradientGroupSpec& spec, const GroupPlan& plan) {
  std::set<std::string> names;
  for (const Partition& partition : plan.partitions) {
    for (const std::string& name : {partition.name, ServedName(partition.name)}) {
      if (names.insert(name).second) continue;
      throw InvalidArgument("the gradient group '" + spec.name + "' has a tensor named '" + name +
                                "', which is also a name of a partition of another one: rename it",
                            {name, {}, "register"});
    }
  }
}

/// Cuts a tensor into partitions of one size, as nearly as possible, and of at most the route's.
void MakePartitions(const GradientGroupSpec& spec, std::size_t tensor, std::size_t variant,
                    GroupPlan& plan) {
  const GradientSpec& whole = spec.tensors[tensor];
  const auto elements = static_cast<std::size_t>(whole.shape.elements());
  const std::size_t most = plan.variants[variant].route.partition_elements;
  const std::size_t partitions =
      std::max<std::size_t>(elements / most + (elements % most != 0 ? 1 : 0), 1);
  for (std::size_t p = 0; p < partitions; ++p) {
    const auto begin = [&](std::size_t partition) {
      return elements / partitions * partition + std::min(partition, elements % partitions);
    };
    Partition partition{tensor,      begin(p),   begin(p + 1) - begin(p),
                        whole.shape, whole.name, variant};
    if (partitions > 1) {
      partition.name += "#" + std::to_string(p);
      // The partition is to be compressed like the tensor, and not like a bias.
      const auto row = static_cast<std::int64_t>(partition.elements);
      partition.shape = whole.shape.rank() > 1 ? Shape{1, row} : Shape{row};
    }
    plan.compressors.push_back(
        MakeCompressor(plan.variants[variant].options, {partition.name, partition.shape}));
    plan.partitions.push_back(std::move(partition));
  }
}

/// Gives each tensor its variant, its partitions and their compressors.
void MakeVariants(const GradientGroupSpec& spec, const TensorOptions& options, bool autotune,
                  GroupPlan& plan) {
  std::map<CompressionOptions, std::size_t> known = {{options.base(), 0}};
  plan.variants.emplace_back(options.base(), autotune);
  plan.first_partition.push_back(0);
  for (std::size_t t = 0; t < spec.tensors.size(); ++t) {
    const GradientSpec& tensor = spec.tensors[t];
    const bool own = !tensor.compression.empty();
    const CompressionOptions given =
        own ? WithoutPrefix(tensor.compression) : options.For(tensor.name);
    try {
      const auto [variant, is_new] = known.emplace(given, plan.variants.size());
      if (is_new) plan.variants.emplace_back(given, autotune);
      MakePartitions(spec, t, variant->second, plan);
      plan.first_partition.push_back(plan.partitions.size());
    } catch (const InvalidArgument& error) {
      if (given == options.base()) throw;
      throw InvalidArgument("for tensor " + options.Describe(tensor.name) + ": " + error.what(),
                            {tensor.name, {}, "register"});
    }
  }
}

void CheckClipping(const GroupPlan& plan) {
  if (!plan.step_settings.clip_norm) return;
  for (const Variant& variant : plan.variants) {
    if (variant.route.compressed != WireRoute::kHostAllgather) continue;
    plan.variants.front().options.Refuse(
        "clip_norm",
        "applies to one rank's gradients, but with route=hierarchical a host's ranks compress "
        "together: leave one of them out");
  }
}

/// Refuses joint decisions of all ranks beside tensors for which they do not wait for each other.
void CheckGates(const GroupPlan& plan) {
  if (!plan.gated() || !plan.asynchronous()) return;
  const Variant& base = plan.variants.front();
  const std::string whose = base.route.max_staleness > 0 ? "" : " (of a tensor's own options)";
  base.options.Refuse(plan.step_settings.clip_norm ? "clip_norm" : "skip_nonfinite",
                      "is decided by all ranks together, which with max_staleness" + whose +
                          " do not wait for each other: leave one of them out");
}

std::vector<std::string> NamesOf(const GradientGroupSpec& spec) {
  std::vector<std::string> names;
  for (const GradientSpec& tensor : spec.tensors) names.push_back(tensor.name);
  return names;
}

std::size_t SparsestVariant(const GroupPlan& plan) {
  const auto density = [&](const Partition& partition) {
    return plan.variants[partition.variant].schedule.final_density();
  };
  return std::ranges::min(plan.partitions, {}, density).variant;
}

std::vector<std::string> WarningsOf(const GradientGroupSpec& spec, const TensorOptions& options,
                                    const GroupPlan& plan, bool strict) {
  std::vector<std::string> warnings = {options.CheckMatches(NamesOf(spec), spec.name, strict)};
  std::set<std::string> cautions;
  for (const Partition& partition : plan.partitions) {
    const ParsedOptions& of_partition = plan.variants[partition.variant].options;
    if (partition.elements >= MinElementsOf(of_partition)) cautions.insert(CautionOf(of_partition));
  }
  for (const std::string& caution : cautions) {
    if (!caution.empty()) warnings.push_back("gradients of '" + spec.name + "': " + caution);
  }
  // One is enough.
  warnings.push_back(ShortRunWarningOf(plan.variants[plan.sparsest].options, spec.name));
  std::erase(warnings, "");
  return warnings;
}

}  // namespace

Variant::Variant(const CompressionOptions& given_options, bool autotune)
    : given(given_options),
      options(ParseOptions(given)),
      schedule(ScheduleOf(options)),
      route(RouteOf(options)),
      codec(FindCompressor(options.compressor()).codec),
      plain(options.compressor() == "dense" && !options.Given("momentum") && !options.Given("ef") &&
            route.compressed != WireRoute::kPushPull),
      remembers(options.compressor() == "dgc") {
  for (const std::string& name : AlternativesOf(options)) {
    const auto named = [&name](BucketForm form) { return Name(form) == name; };
    alternatives.push_back(*std::ranges::find_if(kBucketForms, named));
  }
  const bool may_choose = autotune || options.Given("policy") || !alternatives.empty();
  if (may_choose && LeavesRouteOpen(options)) alternatives.push_back(BucketForm::kSplit);
  if (options.Given("look_ahead") && options.Real("look_ahead") != 0.0) {
    options.Refuse(
        "look_ahead",
        "belongs to an optimizer that moves the parameters while gradients are computed, "
        "which a DistributedOptimizer does: leave it out here");
  }
  if (options.Given("weight_decay")) {
    options.Refuse("weight_decay",
                   "belongs to an optimizer, which knows the parameters: leave it out for the "
                   "gradients alone");
  }
}

std::string GroupPlan::NameOfBucket(std::size_t bucket) const {
  const std::vector<std::uint32_t>& tensors = layout.buckets[bucket].tensors;
  const std::string& first = partitions[tensors.front()].name;
  return tensors.size() == 1 ? first : first + "+" + std::to_string(tensors.size() - 1);
}

bool GroupPlan::pushes() const {
  return std::ranges::any_of(variants, [](const Variant& variant) {
    return variant.route.compressed == WireRoute::kPushPull;
  });
}

bool GroupPlan::asynchronous() const {
  return std::ranges::any_of(
      variants, [](const Variant& variant) { return variant.route.max_staleness > 0; });
}

const CompressionOptions& GivenOptions(const GradientGroupSpec& spec, const Settings& settings) {
  return spec.compression.empty() ? settings.compression : spec.compression;
}

int ServerOf(std::size_t partition, int servers) {
  return static_cast<int>(partition % static_cast<std::size_t>(servers));
}

std::size_t ParameterGroups(const GradientGroupSpec& spec) {
  const int last =
      std::ranges::max(spec.tensors, {}, &GradientSpec::parameter_group).parameter_group;
  return 1 + static_cast<std::size_t>(last);
}

std::uint32_t GroupPlan::slots() const {
  return static_cast<std::uint32_t>(layout.buckets.size()) + (gated() ? 2 : 0);
}

GroupPlan MakeGroupPlan(const GradientGroupSpec& spec, const Settings& settings) {
  CheckSpec(spec);
  GroupPlan plan;
  const TensorOptions options(GivenOptions(spec, settings));
  MakeVariants(spec, options, settings.autotune, plan);
  plan.step_settings = StepSettingsOf(plan.variants.front().options);
  CheckClipping(plan);
  CheckGates(plan);
  plan.sparsest = SparsestVariant(plan);
  plan.warnings = WarningsOf(spec, options, plan, settings.strict);
  CheckGroupReduction(spec, plan);
  std::vector<LayoutTensor> tensors;
  CheckPartitionNames(spec, plan);
  for (const Partition& partition : plan.partitions) {
    tensors.push_back({static_cast<std::int64_t>(partition.elements * sizeof(float)),
                       spec.tensors[partition.tensor].priority, partition.variant,
                       SelectsByBucket(plan.variants[partition.variant].options)});
  }
  plan.layout =
      LayOutBuckets(tensors, {static_cast<std::int64_t>(settings.fusion_threshold_bytes)});
  return plan;
}

Request RegistrationRequest(const GradientGroupSpec& spec, const GroupPlan& plan,
                            const Settings& settings) {
  Request request;
  request.kind = RequestKind::kGroup;
  request.name = spec.name;
  for (const GradientSpec& tensor : spec.tensors) {
    request.members.push_back({tensor.name, tensor.dtype, tensor.shape});
    request.settings.emplace_back("parameter group of " + tensor.name,
                                  std::to_string(tensor.parameter_group));
    request.settings.emplace_back("priority of " + tensor.name, std::to_string(tensor.priority));
    for (const auto& [key, value] : tensor.compression) {
      request.settings.emplace_back(key + " of " + tensor.name, value);
    }
  }
  for (const auto& [key, value] : spec.also_equal) request.settings.emplace_back(key, value);
  for (const auto& [key, value] : GivenOptions(spec, settings)) {
    request.settings.emplace_back(key, value);
  }
  request.settings.emplace_back("reduction", std::string(Name(spec.op)));
  request.settings.emplace_back("by priority", spec.by_priority ? "true" : "false");
  request.settings.emplace_back("prescale", ExactText(spec.prescale));
  request.settings.emplace_back("postscale", ExactText(spec.postscale));
  request.settings.emplace_back("WEIR_VERIFY_EVERY", std::to_string(settings.verify_every));
  request.settings.emplace_back("WEIR_FUSION_THRESHOLD",
                                std::to_string(settings.fusion_threshold_bytes));
  request.slots = plan.slots();
  return request;
}

}  // namespace weir
