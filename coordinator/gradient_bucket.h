#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compression/compressor.h"
#include "coordinator/bucket.h"
#include "coordinator/bucket_frame.h"
#include "coordinator/handle_table.h"
#include "coordinator/step_gate.h"
#include "metrics/bucket_names.h"
#include "ops/allreduce.h"
#include "ops/frame_allgather.h"
#include "ops/reduce.h"
#include "weir/tensor.h"

namespace weir {

/// What a step's bucket looks like on the network.
enum class BucketRoute : std::uint8_t {
  kDense,        ///< The gradients themselves, averaged by an all-reduce.
  kSummable,     ///< Payloads that are arrays (fp16, bf16), averaged by an all-reduce.
  kGather,       ///< One frame a rank, gathered and merged in rank order.
  kMaskedDense,  ///< What kGather would send, decoded and averaged: fewer bytes at high density.
};

/// One gradient of a bucket on its way through a step.
struct GradientSlice {
  std::string name;
  std::size_t elements = 0;
  std::size_t offset = 0;  ///< In the bucket's staging buffers, in elements.
  DType dtype = DType::kFloat32;
  int parameter_group = 0;
  Compressor* compressor = nullptr;

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
  std::vector<StepContext> contexts;  ///< By parameter group.
};

/// The fused gradients of one planned bucket. Its stages are one file each in coordinator/stages/.
class GradientBucket final : public Bucket {
 public:
  GradientBucket(std::string name, std::uint32_t index, int priority,
                 std::vector<GradientSlice> slices, const GroupStep& step, ProcessSet& set,
                 HandleTable& handles, StepGate* gate);

  /// Between steps: how the next run travels. Allocates the buffers that the route needs.
  void Prepare(BucketRoute route);
  /// The same for a run in which this rank contributes nothing and wants no result.
  void PrepareEmpty(BucketRoute route);
  BucketRoute route() const { return route_; }
  std::uint8_t route_index() const override { return static_cast<std::uint8_t>(route_); }
  /// What the routes are called in records, by their value.
  static std::vector<RouteInfo> Routes();
  /// Most bytes a frame of this bucket takes at this density.
  std::size_t MaxFrameBytes(double density) const;
  std::size_t dense_bytes() const { return elements_ * sizeof(float); }
  std::optional<DType> summable() const;

  std::vector<GradientSlice>& slices() { return slices_; }
  /// The run since Prepare has ended well: results are delivered, and what was sent is sent.
  bool delivered() const { return delivered_; }
  /// Counts a submission. True for the one that completes the bucket.
  bool CountSubmission() { return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// Time of the step's first submission, 0 before it.
  std::atomic<std::int64_t> first_ns = 0;

  const std::string& name() const override { return name_; }
  int priority() const override { return priority_; }
  StepGate* gate() const override { return gate_; }
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* BindExchange() override;
  void Done() override;
  void Failed(const std::exception_ptr& error) override;
  std::int64_t step() const override { return step_.step; }
  Traffic traffic() const override;

 private:
  // One stage each: coordinator/stages/*.cc.
  void Pack();
  void Compress();
  /// Copies the gradients, scaled, into the staging buffer, unless they may travel as they are.
  void StageDense();
  void CompressToFrame();
  void CompressToArray();
  void DecodeOwnFrame();
  BucketFrame::Identity FrameIdentity() const;
  void ReadFrame(std::span<const std::byte> frame,
                 std::vector<std::span<const std::byte>>& payloads) const;
  void Merge();
  void Unpack();

  const StepContext& ContextOf(const GradientSlice& slice) const;
  /// The slice's gradient as fp32: in place, or converted into the staging buffer.
  std::span<const float> Source(const GradientSlice& slice);
  /// Where the slice's fp32 result is computed: its update, or the staging buffer.
  std::span<float> Target(const GradientSlice& slice);
  /// Converts the result of Target when the update is not fp32.
  void Deliver(const GradientSlice& slice, std::span<const float> result) const;
  /// The one gradient of the bucket travels from where it lies to where its result belongs.
  bool DirectDense() const;
  std::span<float> Staged(const GradientSlice& slice);
  void Fulfil(const std::exception_ptr& error);

  const std::string name_;
  const std::uint32_t index_;
  const int priority_;
  std::vector<GradientSlice> slices_;
  const GroupStep& step_;
  Transport& transport_;
  HandleTable& handles_;
  StepGate* const gate_;
  std::size_t elements_ = 0;
  std::size_t largest_slice_ = 0;

  BucketRoute route_ = BucketRoute::kDense;
  bool empty_ = false;  ///< Nothing to pack, compress, merge or unpack.
  std::atomic<std::size_t> missing_ = 0;
  bool delivered_ = false;
  std::size_t encoded_ = 0;       ///< Slices whose sending Failed has to take back.
  std::vector<float> staging_;    ///< elements_ values: fused, converted or summed gradients.
  std::vector<float> converted_;  ///< One slice as fp32, when gradients are not.
  std::vector<std::byte> frame_;  ///< What this rank contributes.
  std::size_t frame_bytes_ = 0;
  std::vector<std::size_t> payload_most_;  ///< Largest payload of each slice in this step.
  std::vector<std::span<const std::byte>> payloads_;
  std::vector<std::vector<std::span<const std::byte>>> rank_payloads_;  ///< By rank, then slice.
  std::vector<std::span<const std::byte>> slice_payloads_;              ///< Of one slice, by rank.
  Allreduce allreduce_;
  std::unique_ptr<FrameAllgather> gather_;
  std::vector<Handle> handles_of_step_;
};

}  // namespace weir
