#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compression/compressor.h"
#include "compression/options/policy.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "coordinator/negotiation/request.h"
#include "coordinator/plan/bucket_layout.h"
#include "coordinator/plan/step_plan.h"
#include "weir/gradient_group.h"
#include "weir/settings.h"

namespace weir {

/// Common data of a group's tensors with equal compression options. They
/// share buckets only with each other.
struct Variant {
  /// `autotune`: Settings::autotune.
  Variant(const CompressionOptions& given_options, bool autotune);

  CompressionOptions given;
  ParsedOptions options;
  Schedule schedule;
  RouteSettings route;
  CodecId codec = CodecId::kDense;  ///< In the bucket's frames.
  bool plain = false;               ///< Only averaging: no compressor has anything to do.
  bool remembers = false;           ///< What it has not sent must travel with its alternatives.
  std::vector<BucketForm> alternatives;  ///< Forms that its buckets may take in a step.
};

/// A unit of compression and exchange: a tensor, or with route=push_pull a partition of one.
struct Partition {
  std::size_t tensor;
  std::size_t begin;  ///< First element.
  std::size_t elements;
  Shape shape;  ///< A row, if the tensor has several dimensions and partitions.
  std::string
      name;  ///< The tensor's name, followed by "#0", "#1", ... if it has several partitions.
  std::size_t variant;
};

/// Decisions of a registration, the same on every rank: options, compressors and buckets.
struct GroupPlan {
  std::vector<Variant> variants;  ///< The first has the options without a pattern.
  StepSettings step_settings;
  std::vector<Partition> partitions;                     ///< In the order of the tensors.
  std::vector<std::size_t> first_partition;              ///< By tensor; at the end, their number.
  std::vector<std::unique_ptr<Compressor>> compressors;  ///< By partition.
  BucketLayout layout;                                   ///< Of partitions.
  std::size_t sparsest = 0;           ///< The variant of a partition whose density ends lowest.
  std::vector<std::string> warnings;  ///< About the options, for one rank to write.

  std::size_t VariantOfBucket(std::size_t bucket) const {
    return partitions[layout.buckets[bucket].tensors.front()].variant;
  }
  /// Suffix to the group's name.
  std::string NameOfBucket(std::size_t bucket) const;
  std::size_t PartitionsOf(std::size_t tensor) const {
    return first_partition[tensor + 1] - first_partition[tensor];
  }

  /// True if some buckets go to servers and back; in some, ranks do not wait for each other.
  bool pushes() const;
  bool asynchronous() const;

  bool gated() const { return step_settings.clip_norm.has_value() || step_settings.skip_nonfinite; }
  /// One for each bucket, and two for a gate.
  std::uint32_t slots() const;
};

/// Throws InvalidArgument for an empty group, a repeated or empty name, a type that is not floating
/// point, a bad option.
GroupPlan MakeGroupPlan(const GradientGroupSpec& spec, const Settings& settings);

/// Returns the group's options, or else the settings'.
const CompressionOptions& GivenOptions(const GradientGroupSpec& spec, const Settings& settings);

/// Returns the server of a partition, among so many.
int ServerOf(std::size_t partition, int servers);

std::size_t ParameterGroups(const GradientGroupSpec& spec);

/// Returns everything about a registration that the ranks must agree on.
Request RegistrationRequest(const GradientGroupSpec& spec, const GroupPlan& plan,
                            const Settings& settings);

}  // namespace weir
