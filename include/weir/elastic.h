#pragma once

#include <functional>
#include <memory>

#include "weir/engine.h"
#include "weir/error.h"
#include "weir/optimizer.h"
#include "weir/settings.h"

namespace weir {

/// Ranks wait to come into the job, or should leave it. Elastic::Commit throws it on all ranks, for
/// Elastic::Run to catch.
class HostsUpdated : public Error {
 public:
  using Error::Error;
};

/// Training that goes on when ranks are lost, come or go (weirrun --min-np). In any other job it
/// runs the program once.
///
///     weir::Elastic elastic;
///     elastic.Run([&](weir::Engine& engine) {
///       weir::DistributedOptimizer optimizer(engine, parameters, {.momentum = 0.9f});
///       elastic.Sync(optimizer);
///       while (optimizer.next_step() < steps) {
///         ...  // a step, with samples of engine.rank() and engine.size()
///         if (optimizer.next_step() % 50 == 0) elastic.Commit(optimizer);
///       }
///     });
///
/// What a rank's compressors have not sent stays its own; that of a lost rank is lost, and a new
/// one begins with that of a rank that has the newest state. Not thread-safe; one at a time in a
/// process.
class Elastic {
 public:
  explicit Elastic(Settings settings = Settings::FromEnvironment());
  ~Elastic();
  Elastic(const Elastic&) = delete;
  Elastic& operator=(const Elastic&) = delete;

  /// Joins the job and calls `train`, and again, with another engine, when the ranks of an elastic
  /// job have been dealt anew; returns once `train` does. Throws what Engine::Create throws and,
  /// after ending this rank's part in the job, what `train` throws: but for Commit's HostsUpdated,
  /// and in an elastic job PeerLost, ShutDown, TimedOut and Corrupt, after which the others go on.
  void Run(const std::function<void(Engine& engine)>& train);

  // Within Run, on all ranks alike (collective). Outside it they throw InvalidArgument.

  /// Brings the optimizer to the newest state that any rank has committed; if none has, commits
  /// what there is. Call it once after making the optimizer.
  void Sync(DistributedOptimizer& optimizer);

  /// Keeps a copy of values and state of the optimizer in memory, to go on from when a rank is
  /// lost: after the same step on all ranks. Throws HostsUpdated if ranks come or go.
  void Commit(const DistributedOptimizer& optimizer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
