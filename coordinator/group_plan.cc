#include "coordinator/group_plan.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/exact_text.h"
#include "ops/reduce.h"
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
  const bool arrays = std::ranges::all_of(
      plan.compressors, [](const auto& compressor) { return compressor->summable().has_value(); });
  if (plan.plain || arrays) return;
  throw InvalidArgument("gradients of '" + spec.name + "' that are compressed by '" +
                        plan.options.compressor() +
                        "' are averaged; a sum and factors need a compressor of whole arrays "
                        "(dense, fp16, bf16)");
}

}  // namespace

std::uint32_t GroupPlan::slots() const {
  return static_cast<std::uint32_t>(plan.buckets.size()) + (gated() ? 2 : 0);
}

GroupPlan MakeGroupPlan(const GradientGroupSpec& spec, const Settings& settings) {
  CheckSpec(spec);
  GroupPlan plan{
      .options = ParseOptions(spec.compression.empty() ? settings.compression : spec.compression)};
  if (plan.options.Given("weight_decay")) {
    plan.options.Refuse("weight_decay",
                        "belongs to an optimizer, which knows the parameters: leave it out for the "
                        "gradients alone");
  }
  plan.schedule = ScheduleOf(plan.options);
  plan.step_settings = StepSettingsOf(plan.options);
  plan.policy = PolicyOf(plan.options);
  plan.codec = FindCompressor(plan.options.compressor()).codec;
  plan.plain = plan.options.compressor() == "dense" && !plan.options.Given("momentum") &&
               !plan.options.Given("ef");
  std::vector<PlanTensor> tensors;
  for (const GradientSpec& tensor : spec.tensors) {
    plan.compressors.push_back(MakeCompressor(plan.options, {tensor.name, tensor.shape}));
    tensors.push_back(
        {tensor.shape.elements() * static_cast<std::int64_t>(sizeof(float)), tensor.priority});
  }
  CheckGroupReduction(spec, plan);
  plan.plan = MakePlan(tensors, {static_cast<std::int64_t>(settings.fusion_threshold_bytes)});
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
  }
  for (const auto& [key, value] : spec.also_equal) request.settings.emplace_back(key, value);
  const auto& compression = spec.compression.empty() ? settings.compression : spec.compression;
  for (const auto& [key, value] : compression) request.settings.emplace_back(key, value);
  request.settings.emplace_back("reduction", std::string(Name(spec.op)));
  request.settings.emplace_back("prescale", ExactText(spec.prescale));
  request.settings.emplace_back("postscale", ExactText(spec.postscale));
  request.settings.emplace_back("WEIR_FUSION_THRESHOLD",
                                std::to_string(settings.fusion_threshold_bytes));
  request.slots = plan.slots();
  return request;
}

}  // namespace weir
