#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/negotiation/request.h"
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
  /// Between BeginStep and the end of WaitStep, or in an empty step. Thread-safe.
  virtual bool stepping() const = 0;
  /// The job ends in good order, and the group with it: network thread, between or in steps.
  virtual void OnClose() = 0;

  // Network thread, while the program is in Join.

  /// Begins the next step without gradients: this rank contributes nothing and keeps its state. The
  /// buckets are prepared and not yet announced.
  virtual std::vector<Bucket*> BeginEmptyStep() = 0;
  /// `taken`: the other ranks have taken the step; otherwise it was never begun.
  virtual void EndEmptyStep(bool taken) = 0;
};

/// What a rank does in the place of its program once that has joined: it contributes zeros to the
/// all-reduces, and nothing to the gradient steps, that the other ranks go on with, so that they
/// can.
///
/// Add, Remove and stepping are thread-safe, the rest belongs to the network thread.
class Joining {
 public:
  Joining(ProcessSet& set, LiveRuns& live, HandleTable& handles, BucketNames& names);
  ~Joining();

  void Add(JoinableGroup* group);
  /// Afterwards no empty step of the group begins; one may be under way, and the group must live
  /// until the network thread has let go of it.
  void Remove(JoinableGroup* group);
  /// The name of a group in the middle of a step.
  std::optional<std::string> stepping() const;

  /// The ranks know that this one has joined.
  void Begin();
  bool joined() const { return joined_; }
  /// The run by which this rank takes part in a single operation of the others, agreed on.
  Operation* TakePart(const Request& request);
  /// A run is over. True when it was one of TakePart's, which does not exist any more.
  bool OnDone(Bucket* bucket);
  /// The job ends in good order: every group that is left hears of it.
  void Close();

  /// All ranks have joined. False while something of the empty steps is still on its way; `join`
  /// is staged when it has come.
  bool End(Bucket* join);

 private:
  struct Step {
    JoinableGroup* group = nullptr;
    std::vector<Bucket*> buckets;
    std::size_t left = 0;  ///< Buckets whose run is not over.
  };
  void Start(JoinableGroup* group);
  /// The others are in it.
  bool Taken(const Step& step) const;

  ProcessSet& set_;
  LiveRuns& live_;
  HandleTable& handles_;
  BucketNames& names_;
  mutable std::mutex mutex_;  ///< Of groups_, and of beginning and ending their empty steps.
  std::vector<JoinableGroup*> groups_;
  bool joined_ = false;
  std::vector<Step> steps_;  ///< One for each group while this rank has joined.
  std::unordered_map<Bucket*, std::unique_ptr<Operation>> operations_;
  Bucket* join_ = nullptr;  ///< Waits for the last step.
};

}  // namespace weir
