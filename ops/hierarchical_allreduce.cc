#include "ops/hierarchical_allreduce.h"

#include "ops/parts.h"

namespace weir {

HierarchicalAllreduce::HierarchicalAllreduce(Transport& transport, const HostGrid& grid,
                                             std::size_t chunk_bytes)
    : local_(transport, grid.local()),
      across_(transport, grid.Across()),
      scatter_(local_, chunk_bytes),
      reduce_(across_, chunk_bytes),
      gather_(local_),
      offsets_(grid.local().size() + 1),
      byte_offsets_(offsets_.size()) {}

bool HierarchicalAllreduce::Fits(DType dtype, const Reduction& reduction) {
  return IsFloatingPoint(dtype) || (reduction.op != ReduceOp::kAverage &&
                                    reduction.prescale == 1.0 && reduction.postscale == 1.0);
}

void HierarchicalAllreduce::Bind(const ReduceTask& task) {
  AlignedParts(task.elements, task.dtype, offsets_);
  const auto place = static_cast<std::size_t>(local_.rank());
  const std::size_t size = SizeOf(task.dtype);
  std::byte* part = task.out + offsets_[place] * size;

  ReduceTask on_host = task;
  on_host.out = part;
  on_host.reduction.postscale = 1.0;
  scatter_.Bind(on_host, offsets_);

  ReduceTask among_hosts = task;
  among_hosts.in = among_hosts.out = part;
  among_hosts.elements = offsets_[place + 1] - offsets_[place];
  among_hosts.reduction.prescale = 1.0;
  reduce_.Bind(among_hosts);

  for (std::size_t i = 0; i < offsets_.size(); ++i) byte_offsets_[i] = offsets_[i] * size;
  gather_.Bind({.in = {part, among_hosts.bytes()},
                .out = {task.out, task.bytes()},
                .offsets = byte_offsets_});
}

// All phases have the operation's number: those on the host and the one across it are between
// different ranks, and messages of the same tag arrive in order.
void HierarchicalAllreduce::Start(std::uint32_t operation) {
  operation_ = operation;
  phase_ = Phase::kScatter;
  scatter_.Start(operation);
}

bool HierarchicalAllreduce::Poll() {
  if (phase_ == Phase::kScatter && scatter_.Poll()) {
    phase_ = Phase::kAcross;
    reduce_.Start(operation_);
  }
  if (phase_ == Phase::kAcross && reduce_.Poll()) {
    phase_ = Phase::kGather;
    gather_.Start(operation_);
  }
  if (phase_ == Phase::kGather && gather_.Poll()) phase_ = Phase::kDone;
  return phase_ == Phase::kDone;
}

void HierarchicalAllreduce::Cancel() {
  scatter_.Cancel();
  reduce_.Cancel();
  gather_.Cancel();
  phase_ = Phase::kDone;
}

}  // namespace weir
