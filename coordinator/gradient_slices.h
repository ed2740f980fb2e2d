#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/compressor.h"
#include "coordinator/bucket_frame.h"
#include "coordinator/handle_table.h"
#include "ops/reduce.h"
#include "ops/transport.h"
#include "weir/tensor.h"

namespace weir {

class HostGrid;

/// One gradient of a bucket on its way through a step.
struct GradientSlice {
  std::string name;
  std::size_t elements = 0;
  std::size_t offset = 0;  ///< In the bucket's staging buffer, in elements.
  DType dtype = DType::kFloat32;
  int parameter_group = 0;
  Compressor* compressor = nullptr;
  int server = 0;                   ///< The rank that adds up, where the route has servers.
  Compressor* answering = nullptr;  ///< On that rank: compresses the mean.

  // One step's submission.
  const void* gradient = nullptr;  ///< Null: zeros.
  void* update = nullptr;          ///< Null: the result is dropped.
  std::shared_ptr<const void> owner;
  Handle handle = kNoHandle;
};

/// What a step has in common for all buckets of a group. Written between steps (and by the gate).
struct GroupStep {
  std::int64_t step = 0;
  double density = 1.0;
  std::uint32_t epoch = 0;
  CodecId codec = CodecId::kDense;    ///< Of frames.
  Reduction reduction;                ///< Where gradients or arrays are all-reduced.
  const HostGrid* hosts = nullptr;    ///< The ranks by host, where the group goes by hosts.
  std::vector<StepContext> contexts;  ///< By parameter group.
};

/// The gradients of a bucket, as its routes work on them: where they lie, their compressors and the
/// buffer in which they are fused. Belongs to whoever holds the bucket.
class GradientSlices {
 public:
  /// `bucket` is its name, `index` its number in the plan.
  GradientSlices(std::string bucket, std::uint32_t index, std::vector<GradientSlice> slices,
                 const GroupStep& step);

  const std::string& bucket() const { return bucket_; }
  std::uint32_t index() const { return index_; }
  std::vector<GradientSlice>& all() { return slices_; }
  const std::vector<GradientSlice>& all() const { return slices_; }
  std::size_t elements() const { return elements_; }
  const GroupStep& step() const { return step_; }
  const StepContext& ContextOf(const GradientSlice& slice) const {
    return step_.contexts[static_cast<std::size_t>(slice.parameter_group)];
  }
  /// Of the frames of this step.
  BucketFrame::Identity FrameIdentity() const {
    return {step_.epoch, step_.step, index_, elements_, step_.codec};
  }
  /// The type of their payloads, if all of them are arrays of the same type.
  std::optional<DType> summable() const;

  /// The slice's gradient as fp32: in place, or converted into a buffer that the next call reuses.
  std::span<const float> Source(const GradientSlice& slice);
  /// Where the slice's fp32 result is computed: its update, or the staging buffer.
  std::span<float> Target(const GradientSlice& slice);
  /// The slice's place in the staging buffer.
  std::span<float> Staged(const GradientSlice& slice);
  /// All of it: elements() values.
  std::span<float> staging();
  /// Fills the staging buffer with the gradients, scaled.
  void Stage();

  /// Encodes the slice's gradient; until Keep, Revert takes that back. As Compressor::Encode.
  std::size_t Encode(const GradientSlice& slice, std::span<std::byte> payload);
  /// Counts a slice, the next one in order, as encoded in another way.
  void CountEncoded() { ++encoded_; }
  /// Lets the compressor finish the slice's mean, in place, and delivers it.
  void Finish(const GradientSlice& slice, std::span<float> mean) const;

  /// Hands a result over to where the slice's belongs, unless it lies there.
  void Deliver(const GradientSlice& slice, std::span<const float> result) const;

  /// Nothing is encoded yet, or what was sent is sent.
  void Keep() { encoded_ = 0; }
  /// The exchange failed: what was encoded counts as not sent.
  void Revert();

 private:
  const std::string bucket_;
  const std::uint32_t index_;
  std::vector<GradientSlice> slices_;
  const GroupStep& step_;
  std::size_t elements_ = 0;
  std::size_t largest_slice_ = 0;
  std::size_t encoded_ = 0;       ///< The first so many slices.
  std::vector<float> staging_;    ///< Fused, converted or summed gradients.
  std::vector<float> converted_;  ///< One slice as fp32, when gradients are not.
};

}  // namespace weir
