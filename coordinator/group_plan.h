#pragma once

#include <memory>
#include <vector>

#include "compression/compressor.h"
#include "compression/registry.h"
#include "compression/standard_options.h"
#include "coordinator/planner.h"
#include "coordinator/request.h"
#include "weir/gradient_group.h"
#include "weir/settings.h"

namespace weir {

/// What a registration decides once, the same on every rank: options, compressors and buckets.
struct GroupPlan {
  ParsedOptions options;
  Schedule schedule;
  StepSettings step_settings;
  RoutePolicy policy = RoutePolicy::kAuto;
  CodecId codec = CodecId::kDense;  ///< Of the bucket's frames.
  bool plain = false;               ///< Averaging alone: no compressor has anything to do.
  std::vector<std::unique_ptr<Compressor>> compressors;  ///< By tensor.
  Plan plan;

  bool gated() const { return step_settings.clip_norm.has_value() || step_settings.skip_nonfinite; }
  /// Buckets, and two for a gate.
  std::uint32_t slots() const;
};

/// Throws InvalidArgument for an empty group, a repeated or empty name, a type that is not floating
/// point, a bad option.
GroupPlan MakeGroupPlan(const GradientGroupSpec& spec, const Settings& settings);

/// Everything about a registration that the ranks must agree on.
Request RegistrationRequest(const GradientGroupSpec& spec, const GroupPlan& plan,
                            const Settings& settings);

}  // namespace weir
