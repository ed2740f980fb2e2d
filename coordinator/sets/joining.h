#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/negotiation/request.h"
#include "coordinator/plan/step_plan.h"
#include "coordinator/work/bucket.h"
#include "coordinator/work/handle_table.h"
#include "coordinator/work/live_runs.h"
#include "metrics/records/bucket_names.h"

namespace weir {

class Operation;
class ProcessSet;

/// A gradient group as its process set sees it when the rank joins.
class JoinableGroup {
 public:
  virtual ~JoinableGroup() = default;
  virtual const std::string& name() const = 0;
  /// True between BeginStep and the end of WaitStep, or in an empty step. Thread-safe.
  virtual bool stepping() const = 0;
  /// Called between steps, before the rank tells that it joins: waits for what the group has begun
  /// beside its steps.
  virtual void BeforeJoin() = 0;
  /// Called when the job, and the group with it, ends in good order. Network thread, also in steps.
  virtual void OnClose() = 0;
  /// Called when a rank asks about a step (CallsOthers), and waits for the others to do so too.
  /// Network thread, also in steps.
  virtual void OnCalled(RequestKind kind, int rank, std::int64_t step) = 0;
  /// Called when the set's first rank has planned how buckets travel from a step on. All ranks hear
  /// of it before any bucket of the step before is agreed on. Network thread, also in steps.
  virtual void OnTold(const ToldPlan& told) = 0;

  // Members for the network thread, while the program is in Join.

  /// Begins the next step without gradients: this rank contributes nothing and keeps its state.
  /// Returns the buckets, prepared and not yet announced.
  virtual std::vector<Bucket*> BeginEmptyStep() = 0;
  /// Ends the empty step. `taken`: the other ranks have taken it; otherwise it was never begun.
  virtual void EndEmptyStep(bool taken) = 0;
};

/// Acts for a rank whose program has joined: contributes zeros to the all-reduces of the other
/// ranks, and nothing to their gradient steps, so that they can go on.
///
/// Add, Remove and stepping are thread-safe; the rest belongs to the network thread.
class Joining {
 public:
  Joining(ProcessSet& set, LiveRuns& live, HandleTable& handles, BucketNames& names);
  ~Joining();

  void Add(JoinableGroup* group);
  /// Removes a group. Afterwards no empty step of it begins; one may be under way, and the group
  /// must live until the network thread has let go of it.
  void Remove(JoinableGroup* group);
  /// Returns the name of a group in the middle of a step, if any.
  std::optional<std::string> stepping() const;

  /// Lets all groups end what they do beside their steps. The program's thread.
  void BeforeJoin();

  /// Begins empty steps, once the ranks know that this one has joined.
  void Begin();
  bool joined() const { return joined_; }
  /// Returns the run, already agreed on, with which this rank takes part in the others' operation.
  Operation* TakePart(const Request& request);
  /// Notes that a run is over. True if it was one of TakePart's, which no longer exists.
  bool OnDone(Bucket* bucket);
  /// Tells the group that the request is about that a rank has asked it.
  void OnCalled(const std::string& request_name, int rank, std::int64_t step);
  void OnTold(const std::string& request_name, const ToldPlan& told);
  /// Tells every group that is left that the job ends in good order.
  void Close();

  /// Ends the empty steps after all ranks have joined. False while one is still under way; `join`
  /// is staged when the last one is done.
  bool End(Bucket* join);

 private:
  struct Step {
    JoinableGroup* group = nullptr;
    std::vector<Bucket*> buckets;
    std::size_t left = 0;  ///< Buckets whose run is not over.
  };
  void Start(JoinableGroup* group);
  /// True if the other ranks have begun the step.
  bool Taken(const Step& step) const;

  ProcessSet& set_;
  LiveRuns& live_;
  HandleTable& handles_;
  BucketNames& names_;
  std::mutex lifetimes_;      ///< Held while groups may not go, and not by the network thread.
  mutable std::mutex mutex_;  ///< Guards groups_, and the begin and end of their empty steps.
  std::vector<JoinableGroup*> groups_;
  bool joined_ = false;
  std::vector<Step> steps_;  ///< One for each group while this rank has joined.
  std::unordered_map<Bucket*, std::unique_ptr<Operation>> operations_;
  Bucket* join_ = nullptr;  ///< Waits for the last step.
};

}  // namespace weir
