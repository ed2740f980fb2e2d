#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/groups/divergence_alarm.h"
#include "coordinator/groups/gradient_bucket.h"
#include "coordinator/groups/group_planning.h"
#include "coordinator/groups/group_serving.h"
#include "coordinator/groups/group_state.h"
#include "coordinator/groups/rank_servers.h"
#include "coordinator/groups/unused_tensors.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/rank/coordinator.h"
#include "coordinator/routes/route_choice.h"
#include "coordinator/sets/joining.h"
#include "weir/gradient_group.h"

namespace weir {

/// The registered gradients of one optimizer: its buckets, its compressors' state and its step.
/// Thread-safety as in the public interface.
class GradientGroupImpl final : public GradientGroup, public JoinableGroup {
 public:
  /// Registers with all ranks; blocking. Throws InvalidArgument, Mismatch, or why the engine ended.
  GradientGroupImpl(Coordinator& coordinator, GradientGroupSpec spec);
  ~GradientGroupImpl() override;

  const GradientGroupSpec& spec() const override { return spec_; }
  /// True if some of its buckets go from host to host where the set's ranks allow it: then it has
  /// to know its hosts before the first step (SetHosts).
  bool goes_by_hosts() const { return state_.goes_by_hosts(); }
  void SetHosts(std::optional<HostGrid> hosts);
  ProcessSet& process_set() const { return set_; }

  void BeginStep(const StepInfo& info) override;
  Handle Submit(std::size_t index, ConstTensorView gradient, TensorView update,
                std::shared_ptr<const void> owner) override;
  void SetDefaultUpdate(std::size_t index, void* data) override;
  void NoteUnused(std::span<const std::size_t> tensors) override;
  void EndStep() override;
  void WaitInStream(void* stream) override;
  void GoOn() override;
  std::vector<std::size_t> UnusedByAll() override;
  StepReport WaitStep() override;
  void DropStep() override;
  bool undoable() const override { return !serving_.is_served(); }
  std::int64_t next_step() const override { return next_step_; }
  double next_density() const override {
    return plan_.variants.front().schedule.Density(next_step_);
  }
  void CopyVelocity(std::size_t index, std::span<float> velocity) const override;
  void Save(std::ostream& out) const override;
  void Load(std::span<std::istream* const> former_ranks) override;
  void Adopt(std::istream& one_rank) override;

  const std::string& name() const override { return spec_.name; }
  void BeforeJoin() override { planning_.BeforeJoin(next_step_); }
  bool stepping() const override { return phase_ != Phase::kClosed; }
  void OnClose() override { WarnOfShortRun(); }
  void OnCalled(RequestKind kind, int rank, std::int64_t step) override;
  void OnTold(const ToldPlan& told) override { planning_.OnTold(told); }
  std::vector<Bucket*> BeginEmptyStep() override;
  void EndEmptyStep(bool taken) override;

 private:
  /// kEmpty: the program has joined, and the network thread takes part in its place.
  enum class Phase { kClosed, kOpen, kEnded, kEmpty };
  struct SlicePlace {
    GradientBucket* bucket = nullptr;
    std::size_t slice = 0;
  };
  struct Place {
    std::atomic<bool> submitted = false;
    void* default_update = nullptr;
    Handle handle = kNoHandle;
  };

  /// Finishes a step after EndStep, as nothing of it is lacking on this rank.
  void FinishStep();
  GradientSlice MakeSlice(std::size_t partition);
  void MakeBuckets();
  void WarnOfOptions() const;
  /// Warns once of too few steps, when the group or the job ends, whichever is first. Thread-safe.
  void WarnOfShortRun();
  void Register();
  /// Restores what `read` returns, once all ranks agree on the step. Throws what `read` throws, and
  /// tells the other ranks.
  void LoadTogether(const char* call, const std::function<SavedState()>& read);
  /// Throws Mismatch on all ranks unless they all go on with the same step.
  void AgreeOnStep(const std::string& next_step);
  /// Updates non_finite_, and warns of each tensor once.
  void CountNonFinite();
  void WarnOfDivergence(const StepReport& report);
  const GroupStep& step() const { return steps_.front(); }
  const Variant& VariantOf(const GradientBucket& bucket) const {
    return plan_.variants[plan_.VariantOfBucket(bucket.gradients().index())];
  }
  void SetContexts(const StepInfo& info);
  /// Makes this rank serve what the plan of the coming step says (RankServers::Follow).
  void FollowPlan(bool empty);
  /// Sets the values of the next step that all buckets share, except their contexts.
  void OpenStep(bool undoable);
  RouteFacts FactsOf(const GradientBucket& bucket) const;
  /// Throws InvalidArgument if strict settings forbid that the bucket travels by this route.
  void CheckStrict(const GradientBucket& bucket, RouteKind route) const;
  /// Throws CUDA's error for a stream of another device.
  void CheckStream(void* stream);
  Handle Enter(std::size_t index, const void* gradient, void* update, void* stream,
               const std::shared_ptr<const void>& owner);
  /// Counts a gradient of the bucket, and runs the bucket if it was the last one.
  void CountSubmission(GradientBucket& bucket, std::int64_t now_ns);
  /// Waits until every bucket's run is over. Throws the first error.
  void AwaitBuckets();
  /// Hears that a rank drops a step.
  void OnDropping(int rank, std::int64_t step);
  /// Ends the engine: a rank drops this step, and this rank takes it.
  void FailAsDropped();
  /// Notes, at the end of a step, the tensors that were not submitted, unless the program has.
  void NoteUnsubmitted();
  /// Makes the compressors of tensors that no rank has used what they were before the step.
  void LeaveUnusedAlone();
  /// Fulfils each GradientBucket::queued with the error that ended the engine.
  void FailQueued();
  /// Throws InvalidArgument, which names the call, before EndStep.
  void CheckEnded(const char* call) const;
  void OnGate(bool pass);
  StepReport Report() const;
  /// Returns the end of the step; for a program that went on, the time when its results were there.
  std::int64_t StepEndNs() const;
  /// Throws InvalidArgument in a step, unless the engine's end cut it short and it left no trace.
  void CheckBetweenSteps(const char* call) const;
  static GradientSlice& SliceAt(const SlicePlace& place) {
    return place.bucket->slices()[place.slice];
  }

  Coordinator& coordinator_;
  const GradientGroupSpec spec_;
  ProcessSet& set_;
  const std::shared_ptr<const void> name_claim_;
  const Gpu* const gpu_;  ///< GPU of the tensors that lie on one; null: none does.
  GroupPlan plan_;
  std::vector<std::unique_ptr<GpuCompressor>> on_gpu_;  ///< Entry by partition; null: plan_ has it.
  std::optional<HostGrid> hosts_;                       ///< Set if a hierarchy of them is useful.
  std::vector<std::string> gpus_;                       ///< GPUs by rank, if NCCL connects them.
  std::vector<GroupStep> steps_;                        ///< Indexed by variant.
  std::unique_ptr<StepGate> gate_;
  std::vector<std::unique_ptr<GradientBucket>> buckets_;
  RankServers servers_;
  std::vector<SlicePlace> slices_;         ///< Indexed by partition.
  std::vector<Place> places_;              ///< Indexed by tensor.
  std::vector<std::uint64_t> non_finite_;  ///< Entries by tensor, as last counted.
  GroupState state_;
  GroupServing serving_;
  UnusedTensors unused_;
  GroupPlanning planning_;

  std::atomic<Phase> phase_ = Phase::kClosed;
  std::atomic<std::int64_t> next_step_ = 0;
  std::atomic<bool> dropping_ = false;           ///< In DropStep.
  std::atomic<std::int64_t> dropped_step_ = -1;  ///< Step that some rank drops.
  std::atomic<int> dropping_rank_ = -1;          ///< The first one that does.
  std::atomic<bool> told_of_length_ = false;
  DivergenceAlarm divergence_;
  std::vector<float> rates_;           ///< Rates of this step, by parameter group.
  std::vector<float> previous_rates_;  ///< Rates of the last applied step; empty before it.
  std::vector<float> rates_before_;    ///< previous_rates_ during the last step, for DropStep.
  std::optional<StepRecorder::GroupPart> step_part_;  ///< Set from BeginStep to WaitStep's end.
  std::int64_t went_on_ns_ = 0;  ///< Time when WaitInStream or GoOn returned; 0: none did.
  void* step_stream_ = nullptr;  ///< StepInfo::stream.
  std::atomic<void*> checked_stream_ = this;  ///< Last one that CheckStream passed; none at first.
  double loss_scale_ = 1.0;
  bool skipped_ = false;
  double clip_coefficient_ = 1.0;
};

}  // namespace weir
