#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "coordinator/negotiation/submission.h"
#include "ops/collectives/collective.h"

namespace weir {

/// Runs an operation with tensors on a GPU: as a collective of the tensors in place, after the
/// program's work on them; or of pinned copies on the host, with a copy from the GPU before it and
/// one to the GPU after it. Keeps its memory from run to run.
///
/// A run is Bind, then one of StageOnHost and ExchangeInPlace, then Use. Bind, and StageOnHost
/// right after it, belong to the submitting thread; the rest belongs to the network thread.
class GpuOperands final : public Collective {
 public:
  explicit GpuOperands(const Gpu& gpu) : gpu_(gpu), stream_(gpu) {}
  ~GpuOperands() override;

  const Gpu& gpu() const { return gpu_; }
  /// Notes the program's work so far. The submission must live until the run is over.
  void Bind(Submission& submission);
  /// Puts memory of the host in the place of the submission's tensors on the GPU, and of the memory
  /// that it requests.
  void StageOnHost(Submission& submission);
  /// Leaves the tensors, which are all on the GPU, in place: work on them is done in `stream`.
  void ExchangeInPlace(Submission& submission, GpuStream& stream);
  /// Sets the collective of the run, whose buffers are those of the submission.
  void Use(Collective* exchange) { exchange_ = exchange; }

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;
  std::uint64_t bytes_elsewhere() const override {
    return exchange_ == nullptr ? 0 : exchange_->bytes_elsewhere();
  }

 private:
  enum class Phase { kIdle, kFetches, kExchanges, kDelivers };
  struct Operand {
    explicit Operand(const Gpu& gpu) : ready(gpu) {}
    const void* in = nullptr;
    void* out = nullptr;  ///< Null: none is given.
    std::size_t in_bytes = 0;
    std::size_t out_bytes = 0;
    void* stream = nullptr;
    GpuEvent ready;  ///< Marks the program's work on in and out, known before Start.
    GpuMemory input;
    GpuMemory result;         ///< Result, if of another size than the input.
    void* made_at = nullptr;  ///< Place where the result is made: one of the two.
  };
  std::byte* Reserve(GpuMemory& memory, std::size_t bytes) const;
  /// Gives the operand the program's memory for a result. Returns where the result is made.
  void* Take(Operand& operand, void* given, std::size_t bytes) const;
  void Fetch();
  void Deliver();

  const Gpu& gpu_;
  GpuStream stream_;
  GpuSignal copied_;
  std::vector<std::unique_ptr<Operand>> operands_;  ///< Enough for any run so far.
  std::size_t count_ = 0;                           ///< Operands of this run.
  GpuStream* in_place_ = nullptr;                   ///< Null: on the host.
  Collective* exchange_ = nullptr;
  Phase phase_ = Phase::kIdle;
  std::uint32_t operation_ = 0;
};

}  // namespace weir
