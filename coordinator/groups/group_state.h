#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/gpu/gpu_compressor.h"
#include "compression/state/state.h"
#include "coordinator/groups/rank_servers.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/sets/process_set.h"
#include "coordinator/work/hosts.h"
#include "weir/gradient_group.h"

namespace weir {

/// Memory of a group's compressors on this rank: saves it, loads it, and hands it on to a job of
/// another size. Between steps only.
class GroupState {
 public:
  /// Refers to its arguments, which must outlive it. `on_gpu` has compressors on a GPU, by
  /// partition; null: the plan has that one. `rank` is this rank's in the job.
  GroupState(const GradientGroupSpec& spec, const GroupPlan& plan,
             const std::vector<std::unique_ptr<GpuCompressor>>& on_gpu, const RankServers& servers,
             const std::optional<HostGrid>& hosts, ProcessSet& set, int rank)
      : spec_(spec),
        plan_(plan),
        on_gpu_(on_gpu),
        servers_(servers),
        hosts_(hosts),
        set_(set),
        rank_(rank) {}

  /// Returns all of it, except the step and the learning rates, which the caller fills in.
  SavedState Collected() const;
  /// Returns this rank's state from files of former ranks. Throws as GradientGroup::Load does.
  SavedState Read(std::span<std::istream* const> former_ranks) const;
  /// Returns such a state from the file of any one rank, for GradientGroup::Adopt.
  SavedState ReadOne(std::istream& one_rank) const;
  void Restore(const SavedState& state) const;

  /// Copies the velocity of a tensor, zeros if its compressor has none. Throws InvalidArgument for
  /// a tensor that does not exist, or of another size.
  void CopyVelocity(std::size_t index, std::span<float> velocity) const;

  /// True if some of the group's buckets go from host to host where its ranks allow it.
  bool goes_by_hosts() const;

 private:
  TensorCompression& CompressionOf(std::size_t partition) const;
  /// Returns the compressors of all that this rank keeps.
  std::vector<NamedCompressor> NamedCompressors() const;
  /// Returns the compressors of the partitions that it serves.
  std::vector<NamedCompressor> ServedCompressors() const;
  std::vector<std::string> PartitionNames() const;
  /// Adds what former servers had not answered, times `factor`, to what this rank has not sent: of
  /// the partitions that it `takes`.
  void TakeUnanswered(std::span<const SavedArray> served, float factor,
                      const std::function<bool(std::size_t)>& takes, SavedState& state) const;
  /// Returns the hosts whose first ranks keep what was not sent; null: every rank keeps its own.
  const HostGrid* SharingHosts() const;
  /// Throws InvalidArgument for states that were kept by other ranks than would keep them now.
  void CheckHosts(std::span<const SavedState> states) const;
  /// Throws InvalidArgument for a state of other tensors or parameter groups.
  void Check(const SavedState& state) const;

  const GradientGroupSpec& spec_;
  const GroupPlan& plan_;
  const std::vector<std::unique_ptr<GpuCompressor>>& on_gpu_;
  const RankServers& servers_;
  const std::optional<HostGrid>& hosts_;
  ProcessSet& set_;
  const int rank_;
};

}  // namespace weir
