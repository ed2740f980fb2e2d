#include "ops/collectives/hierarchical_allreduce.h"

namespace weir {

HierarchicalAllreduce::HierarchicalAllreduce(Transport& transport, const HostGrid& grid)
    : local_network_(transport, grid.local()),
      across_network_(transport, grid.Across()),
      scatter_(local_network_),
      across_allreduce_(across_network_),
      gather_(local_network_),
      offsets_(grid.local().size() + 1),
      byte_offsets_(offsets_.size()) {}

bool HierarchicalAllreduce::Fits(DType dtype, const Reduction& reduction) {
  const bool adds = reduction.op == ReduceOp::kSum || reduction.op == ReduceOp::kAverage;
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  if (IsFloatingPoint(dtype) && adds) return true;
  if (narrow && reduction.op == ReduceOp::kProduct) return false;
  return reduction.op != ReduceOp::kAverage && reduction.prescale == 1.0 &&
         reduction.postscale == 1.0;
}

void HierarchicalAllreduce::set_chunk_bytes(std::size_t bytes) {
  scatter_.set_chunk_bytes(bytes);
  across_allreduce_.set_chunk_bytes(bytes);
}

void HierarchicalAllreduce::Bind(const ReduceTask& task) {
  AlignedParts(task.elements, task.dtype, offsets_);
  const auto place = static_cast<std::size_t>(local_network_.rank());
  const std::size_t size = SizeOf(task.dtype);
  std::byte* part = task.out + offsets_[place] * size;

  ReduceTask on_host = task;
  on_host.out = part;
  // Both factors, so that values between the levels are of the result's size.
  on_host.reduction.prescale *= on_host.reduction.postscale;
  on_host.reduction.postscale = 1.0;
  scatter_.Bind(on_host, offsets_);

  ReduceTask among_hosts = task;
  among_hosts.in = among_hosts.out = part;
  among_hosts.elements = offsets_[place + 1] - offsets_[place];
  among_hosts.reduction.prescale = among_hosts.reduction.postscale = 1.0;
  across_allreduce_.Bind(among_hosts);

  for (std::size_t i = 0; i < offsets_.size(); ++i) byte_offsets_[i] = offsets_[i] * size;
  gather_.Bind({.in = {part, among_hosts.bytes()},
                .out = {task.out, task.bytes()},
                .offsets = byte_offsets_});
}

// All phases have the operation's number. The phases on the host and the one across hosts connect
// different ranks, and messages of the same tag arrive in order.
void HierarchicalAllreduce::Start(std::uint32_t operation) {
  operation_ = operation;
  phase_ = Phase::kScatter;
  scatter_.Start(operation);
}

bool HierarchicalAllreduce::Poll() {
  if (phase_ == Phase::kScatter && scatter_.Poll()) {
    phase_ = Phase::kAcross;
    across_allreduce_.Start(operation_);
  }
  if (phase_ == Phase::kAcross && across_allreduce_.Poll()) {
    phase_ = Phase::kGather;
    gather_.Start(operation_);
  }
  if (phase_ == Phase::kGather && gather_.Poll()) phase_ = Phase::kDone;
  return phase_ == Phase::kDone;
}

void HierarchicalAllreduce::Cancel() {
  scatter_.Cancel();
  across_allreduce_.Cancel();
  gather_.Cancel();
  phase_ = Phase::kDone;
}

}  // namespace weir
