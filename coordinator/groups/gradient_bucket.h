#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compression/options/policy.h"
#include "coordinator/gradients/gradient_slices.h"
#include "coordinator/plan/step_plan.h"
#include "coordinator/routes/routes.h"
#include "coordinator/work/bucket.h"
#include "coordinator/work/handle_table.h"
#include "coordinator/work/step_gate.h"

namespace weir {

/// The fused gradients of one planned bucket: their submissions and handles, the gate before them,
/// and the route of the step (coordinator/routes/), which does the work.
class GradientBucket final : public Bucket {
 public:
  /// `overtakes`: Bucket::overtakes.
  GradientBucket(std::string name, std::uint32_t index, int priority, bool overtakes,
                 std::vector<GradientSlice> slices, const GroupStep& step, ProcessSet& set,
                 HandleTable& handles, StepGate* gate, const Gpu* gpu);

  /// Sets, between steps, how the next run travels, and makes the buffers that the route needs.
  /// `empty`: this rank contributes nothing to the run and wants no result.
  void Prepare(RouteKind kind, bool empty = false);
  std::uint8_t route_index() const override { return static_cast<std::uint8_t>(kind_); }
  TrafficOp traffic_op() const override { return OperationOf(kind_); }

  std::size_t dense_bytes() const { return gradients_.elements() * sizeof(float); }
  const GradientSlices& gradients() const { return gradients_; }
  std::vector<GradientSlice>& slices() { return gradients_.all(); }
  /// True if the run since Prepare succeeded: results are delivered, what was sent is sent.
  bool delivered() const { return delivered_; }
  /// True if delivered, or if the run failed and left compressors' memory changed.
  bool changed() const { return delivered_ || changed_; }
  /// Returns the time of delivery.
  std::int64_t delivered_ns() const { return delivered_ns_; }
  /// Undoes the run since Prepare, which is over, as GradientGroup::DropStep does.
  void GoBack();
  /// The same for one gradient, whose memory was marked before the run.
  void Mark(std::size_t slice) { gradients_.Mark(slice); }
  void GoBack(std::size_t slice) { gradients_.GoBack(slice); }
  /// Counts a submission. True for the one that completes the bucket.
  bool CountSubmission();
  /// Sets the handle that is fulfilled once the run's results are there, or all that leads to them
  /// is in a GPU's stream. LetWait then makes later work in `stream` wait for them.
  void SetQueued(Handle handle) { queued_ = handle; }
  Handle queued() const { return queued_; }
  void LetWait(void* stream) const { gradients_.LetWait(stream); }
  /// Notes, after the last submission, the work in the program's streams, which precedes the run.
  void RecordProgram() { gradients_.RecordProgram(); }
  /// Time of the step's first submission, 0 before it.
  std::atomic<std::int64_t> first_ns = 0;

  /// When, or for how long, the run since Prepare did what, for who plans the next ones.
  struct RunTimes {
    std::int64_t ready_ns = 0;
    std::int64_t encode_ns = 0;  ///< Duration of Pack and Compress.
    std::int64_t exchange_begin_ns = 0;
    std::int64_t exchange_end_ns = 0;
    std::int64_t decode_ns = 0;  ///< Duration of Relay, Merge and Unpack.
  };
  /// To be called when the run is over.
  const RunTimes& times() const { return times_; }
  /// Returns the bytes that this rank sends in each form, at the density of this step; kCompressed
  /// by the options' `route`.
  ByForm<double> BytesByForm(const RouteSettings& route) const;

  const std::string& name() const override { return gradients_.bucket(); }
  int priority() const override { return priority_; }
  bool overtakes() const override { return overtakes_; }
  StepGate* gate() const override { return gate_; }
  bool negotiated() const override {
    return kind_ != RouteKind::kServers || !gradients_.step().asynchronous;
  }
  std::span<const BucketStage> stages() const override { return stages_; }
  void Run(BucketStage stage) override;
  Collective* BindExchange(std::size_t chunk_bytes) override {
    route_->UseChunksOf(chunk_bytes);
    return route_->Bind(exchanges_before());
  }
  void Done() override;
  void Failed(const std::exception_ptr& error) override;
  void NoteExchange(std::int64_t begin_ns, std::int64_t end_ns) override;
  std::int64_t step() const override { return gradients_.step().step; }
  Traffic traffic() const override;

 private:
  void SetStages(bool empty);
  void RunAtWork(BucketStage stage);
  /// Measures the gradients for the gate, which settles how they are scaled.
  void Measure();
  void Fulfil(const std::exception_ptr& error);
  /// Adds one record for each gradient that this rank had in the step.
  void RecordGradients();

  const int priority_;
  const bool overtakes_;
  GradientSlices gradients_;
  ProcessSet& set_;
  HandleTable& handles_;
  StepGate* const gate_;

  RouteKind kind_ = RouteKind::kDense;
  std::unique_ptr<Route> route_;  ///< Route of kind_; made by the first Prepare.
  std::vector<BucketStage> stages_;
  std::atomic<std::size_t> missing_ = 0;
  bool delivered_ = false;
  bool changed_ = false;
  bool marked_ = false;  ///< The compressors' memory is marked since Prepare.
  std::int64_t delivered_ns_ = 0;
  RunTimes times_;
  std::vector<Handle> handles_of_step_;
  Handle queued_ = kNoHandle;
};

}  // namespace weir
