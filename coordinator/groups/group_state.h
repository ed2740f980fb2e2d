#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/gpu/gpu_compressor.h"
#include "compression/state/state.h"
#include "coordinator/plan/group_plan.h"
#include "coordinator/sets/process_set.h"
#include "coordinator/work/hosts.h"
#include "weir/gradient_group.h"

namespace weir {

/// What the compressors of a group remember on this rank, and how it is saved, loaded and handed on
/// to a job of another size. Between steps only.
class GroupState {
 public:
  /// `on_gpu`: what lies on a GPU, by partition; null: the plan's compressor is there. `answering`:
  /// what this rank compresses as a server, by partition; null where others answer. All must
  /// outlive the object. `rank`: of the job.
  GroupState(const GradientGroupSpec& spec, const GroupPlan& plan,
             const std::vector<std::unique_ptr<GpuCompressor>>& on_gpu,
             const std::vector<std::unique_ptr<Compressor>>& answering,
             const std::optional<HostGrid>& hosts, ProcessSet& set, int rank)
      : spec_(spec),
        plan_(plan),
        on_gpu_(on_gpu),
        answering_(answering),
        hosts_(hosts),
        set_(set),
        rank_(rank) {}

  /// All of it; the step and the learning rates are the caller's to fill in.
  SavedState Collected() const;
  /// This rank's state from the files of former ranks. Throws what GradientGroup::Load throws.
  SavedState Read(std::span<std::istream* const> former_ranks) const;
  /// The same from the file of any one rank, for GradientGroup::Adopt.
  SavedState ReadOne(std::istream& one_rank) const;
  void Restore(const SavedState& state) const;

  /// The velocity of a tensor, zeros where its compressor has none. Throws InvalidArgument for a
  /// tensor that does not exist, or of another size.
  void CopyVelocity(std::size_t index, std::span<float> velocity) const;

  /// Some of the group's buckets go from host to host, if its ranks are so.
  bool goes_by_hosts() const;

 private:
  TensorCompression& CompressionOf(std::size_t partition) const;
  /// Of whatever this rank keeps.
  std::vector<NamedCompressor> NamedCompressors() const;
  /// Of the partitions that it serves.
  std::vector<NamedCompressor> ServedCompressors() const;
  std::vector<std::string> PartitionNames() const;
  /// The hosts whose first ranks keep what was not sent; null: every rank keeps its own.
  const HostGrid* SharingHosts() const;
  /// Throws InvalidArgument for states that others kept than would keep them now.
  void CheckHosts(std::span<const SavedState> states) const;
  /// Throws InvalidArgument for a state of other tensors or parameter groups.
  void Check(const SavedState& state) const;

  const GradientGroupSpec& spec_;
  const GroupPlan& plan_;
  const std::vector<std::unique_ptr<GpuCompressor>>& on_gpu_;
  const std::vector<std::unique_ptr<Compressor>>& answering_;
  const std::optional<HostGrid>& hosts_;
  ProcessSet& set_;
  const int rank_;
};

}  // namespace weir
