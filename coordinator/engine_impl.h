#pragma once

#include <memory>
#include <string>

#include "coordinator/coordinator.h"
#include "metrics/bucket_names.h"
#include "metrics/monitor.h"
#include "metrics/recorder.h"
#include "ops/membership.h"
#include "weir/engine.h"

namespace weir {

/// Where a rank sits, and how it reaches the others.
struct EngineEnvironment {
  std::function<std::unique_ptr<Transport>()> connect;
  std::function<void(bool failed)> disconnect;
  std::unique_ptr<Membership> membership;
  int local_rank = 0;
  int local_size = 1;
  std::string host;
};

/// The Engine over any network: checks what this rank alone can check, and owns the parts.
class EngineImpl final : public Engine {
 public:
  EngineImpl(const Settings& settings, EngineEnvironment environment);
  ~EngineImpl() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  Handle Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                   AllreduceOptions options) override;
  Handle Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                   std::shared_ptr<const void> owner) override;
  Handle Broadcast(const std::string& name, TensorView tensor, int root,
                   std::shared_ptr<const void> owner) override;
  Handle Barrier(const std::string& name) override;
  const std::map<std::string, std::string>& default_compression() const override {
    return coordinator().settings().compression;
  }
  std::unique_ptr<GradientGroup> Register(GradientGroupSpec spec) override;
  bool Poll(Handle handle) override;
  void Wait(Handle handle) override;
  NetworkTotals network_totals() override { return coordinator().network_totals(); }
  void Abort(const std::string& reason) override;
  void Shutdown() override;

  /// What this rank has recorded, for who measures it.
  const Recorder& recorder() const { return parts_->recorder; }

 private:
  /// Everything that has threads: given up, not destroyed, in a forked child.
  struct Parts {
    Recorder recorder;
    BucketNames names;
    std::unique_ptr<Membership> membership;
    std::unique_ptr<Coordinator> coordinator;
    std::unique_ptr<Monitor> monitor;  ///< Null when nobody asked to see anything.
  };
  Coordinator& coordinator() const;

  const int local_rank_;
  const int local_size_;
  std::unique_ptr<Parts> parts_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace weir
