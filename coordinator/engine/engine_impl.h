#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "coordinator/rank/coordinator.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "ops/membership/membership.h"
#include "weir/engine.h"

namespace weir {

/// A rank's place, and its connection to the others.
struct EngineEnvironment {
  std::function<std::unique_ptr<Transport>()> connect;
  std::function<void(bool failed)> disconnect;
  std::unique_ptr<Membership> membership;
  int local_rank = 0;
  int local_size = 1;
  int epoch = 1;
  std::string host;
  std::string hosts{};    ///< Hosts of the whole job, "a:2,b:1"; empty: unknown.
  bool launched = false;  ///< A launcher has started this process as a rank of a job.
  NetworkSpeed::Bounds speed_bounds{};
};

class Draft;
class Monitor;
class TotalsReporter;

/// The Engine over any network: checks what only this rank can check, and owns the parts.
class EngineImpl final : public Engine {
 public:
  EngineImpl(const Settings& settings, EngineEnvironment environment);
  ~EngineImpl() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  int epoch() const override { return epoch_; }
  bool hosts_updated() const override { return coordinator().hosts_updated(); }
  void SetReady() override {
    if (parts_->membership) parts_->membership->SendReady();
  }

  Handle Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                   ReduceOptions options) override;
  Handle GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                          ReduceOptions options) override;
  Handle Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                   std::shared_ptr<const void> owner, int process_set) override;
  Handle GroupedAllgather(const std::string& name, std::span<const RowsTensor> tensors,
                          std::shared_ptr<const void> owner, int process_set) override;
  Handle Alltoall(const std::string& name, ConstTensorView in, std::span<const std::int64_t> splits,
                  AllocateOutput allocate, std::shared_ptr<const void> owner,
                  int process_set) override;
  Handle Reducescatter(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                       ReduceOptions options) override;
  Handle GroupedReducescatter(const std::string& name, std::span<const RowsTensor> tensors,
                              ReduceOptions options) override;
  Handle SparseAllreduce(const std::string& name, SparseTensor tensor,
                         ReduceOptions options) override;
  Handle Broadcast(const std::string& name, TensorView tensor, int root,
                   std::shared_ptr<const void> owner, int process_set) override;
  Handle Barrier(const std::string& name, int process_set) override;
  int Join(int process_set) override {
    return coordinator().Join(coordinator().process_sets().FindOwn(process_set));
  }
  int AddProcessSet(std::span<const int> ranks) override;
  void RemoveProcessSet(int id) override { coordinator().set_changes().Remove(id); }
  std::vector<int> ProcessSetRanks(int id) const override {
    return coordinator().process_sets().Find(id).ranks();
  }
  const Settings& settings() const override { return coordinator().settings(); }
  std::unique_ptr<GradientGroup> Register(GradientGroupSpec spec) override;
  bool Poll(Handle handle) override;
  void Wait(Handle handle) override;
  bool WaitFor(Handle handle, std::chrono::nanoseconds most) override;
  std::string Explain() const override { return coordinator().gauges().plans.Text(); }
  NetworkTotals network_totals() override { return coordinator().network_totals(); }
  void StartTimeline(const std::string& path, bool mark_cycles) override;
  void StopTimeline() override;
  void Abort(const std::string& reason) override;
  void Shutdown() override;

  /// Records of this rank, for measurements.
  const Recorder& recorder() const { return parts_->recorder; }
  const EngineGauges& gauges() const { return parts_->coordinator->gauges(); }
  CompressionProcess* compression_process() { return coordinator().compression_process(); }
  /// Number of the job's single operations that exist on this rank, idle ones included.
  std::size_t operations() const {
    return parts_->coordinator->process_sets().global().operations().size();
  }

 private:
  /// Parts with threads: abandoned, not destroyed, in a forked child.
  struct Parts {
    Recorder recorder;
    BucketNames names;
    std::unique_ptr<Membership> membership;
    std::unique_ptr<Coordinator> coordinator;
    std::mutex monitor_mutex;                ///< Guards the creation of `monitor`.
    std::unique_ptr<Monitor> monitor;        ///< Null until somebody asks for output.
    std::unique_ptr<TotalsReporter> totals;  ///< Null if nobody sums the job up.
  };
  void MakeMonitor(const Settings& settings);
  /// Reports totals for the summary of a launched job.
  void ReportTotals(const Settings& settings);
  void PrepareFlight(const Settings& settings) const;
  bool RecordsFlights(const Settings& settings) const;
  std::function<void(int rank, int size, const FlightReport&)> FlightWriter(
      const Settings& settings);
  /// Returns the host of each rank of the job, as far as the set's ranks tell: asks all of them.
  std::vector<int> AskForHosts(ProcessSet& set, const std::string& name);
  /// Makes all exchanges hierarchical, if asked for. Throws Mismatch where settings differ, and in
  /// strict mode InvalidArgument where hosts are not alike: on all ranks.
  void GoByHosts(const Settings& settings);
  Coordinator& coordinator() const;
  Handle Submit(Draft& draft, int process_set);

  const int local_rank_;
  const int local_size_;
  const int epoch_;
  const std::string host_;
  const std::string hosts_;
  const bool launched_;
  std::unique_ptr<Parts> parts_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace weir
