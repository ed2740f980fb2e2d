#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/gpu/gpu_stream.h"
#include "compression/compressor.h"
#include "compression/dgc/joint_selection.h"
#include "coordinator/gradients/bucket_frame.h"
#include "coordinator/gradients/gpu_compression.h"
#include "coordinator/gradients/gpu_slices.h"
#include "coordinator/work/handle_table.h"
#include "ops/arrays/reduce.h"
#include "ops/transport/transport.h"
#include "weir/tensor.h"

namespace weir {

struct GroupServers;
class HostGrid;

/// One gradient of a bucket on its way through a step.
struct GradientSlice {
  std::string name;
  std::size_t elements = 0;
  std::size_t offset = 0;  ///< Place in the bucket's staging buffer, in elements.
  DType dtype = DType::kFloat32;
  int parameter_group = 0;
  TensorCompression* compression = nullptr;  ///< One of the next two.
  Compressor* compressor = nullptr;          ///< Encodes on the CPU; null: kernels do.
  GpuCompressor* gpu = nullptr;              ///< Encodes by kernels; null: the CPU does.
  int server = 0;                            ///< Server that adds it up, if the route has servers.
  Compressor* answering = nullptr;           ///< Compresses the mean if this rank is the server.
  bool on_gpu = false;

  // One step's submission.
  void* stream = nullptr;          ///< Program's stream for it and its update, if on a GPU.
  const void* gradient = nullptr;  ///< Null: zeros.
  void* update = nullptr;          ///< Null: the result is dropped.
  std::shared_ptr<const void> owner;
  Handle handle = kNoHandle;
  std::uint32_t record_index = 0;  ///< Number in BucketNames.

  /// Values for the step's record of it.
  struct Trace {
    std::int64_t submitted_ns = 0;               ///< Time of the submission; 0: none.
    std::optional<std::size_t> payload_bytes{};  ///< Empty if it was not encoded by itself.
    float density = 1.0f;                        ///< Fraction of its entries that were sent.
    float residual_ratio = -1.0f;                ///< See ResidualRatio; measured in turns.
  };
  Trace trace;

  /// Number of entries that were inf or NaN and left out before the compression saw them.
  std::uint64_t non_finite = 0;

  void Use(Compressor& one) { compression = compressor = &one; }
  void Use(GpuCompressor& one) { compression = gpu = &one; }
  /// Returns Compressor::joint; null also if kernels encode.
  JointCompressor* joint() const { return compressor == nullptr ? nullptr : compressor->joint(); }
  FactorCompressor* factors() const {
    return compressor == nullptr ? nullptr : compressor->factors();
  }
};

/// Values of a step for all buckets of a group's variant. Written between steps (and by the gate).
struct GroupStep {
  std::int64_t step = 0;
  double density = 1.0;
  std::uint32_t epoch = 0;
  CodecId codec = CodecId::kDense;        ///< Codec of frames.
  Reduction reduction;                    ///< Used if gradients or arrays are all-reduced.
  const HostGrid* hosts = nullptr;        ///< Ranks by host, if the group goes by hosts.
  bool halves_inside_hosts = false;       ///< Averages inside hosts are fp16.
  const GroupServers* servers = nullptr;  ///< Set if it has servers beside its ranks.
  /// GPUs by rank, on which all gradients lie, if NCCL connects them; else null.
  const std::vector<std::string>* gpus = nullptr;
  bool undoable = false;              ///< Compressors mark their memory (GradientGroup::DropStep).
  bool asynchronous = false;          ///< Ranks do not wait for each other (max_staleness).
  std::vector<StepContext> contexts;  ///< Contexts by parameter group.
};

/// The gradients of a bucket, as its routes work on them: where they lie, their compressors and the
/// buffer in which they are fused. Belongs to whoever holds the bucket.
class GradientSlices {
 public:
  /// Takes the bucket's name, and its number in the plan (`index`). `gpu` has the gradients that
  /// lie on one.
  GradientSlices(std::string bucket, std::uint32_t index, std::vector<GradientSlice> slices,
                 const GroupStep& step, const Gpu* gpu = nullptr);

  const std::string& bucket() const { return bucket_; }
  std::uint32_t index() const { return index_; }
  std::vector<GradientSlice>& all() { return slices_; }
  const std::vector<GradientSlice>& all() const { return slices_; }
  std::size_t elements() const { return elements_; }
  const GroupStep& step() const { return step_; }
  const StepContext& ContextOf(const GradientSlice& slice) const {
    return step_.contexts[static_cast<std::size_t>(slice.parameter_group)];
  }
  /// Returns the identity of the frames of this step.
  BucketFrame::Identity FrameIdentity() const {
    return {step_.epoch, step_.step, index_, elements_, step_.codec};
  }
  /// Returns the type of their payloads, if all of them are arrays of the same type.
  std::optional<DType> summable() const;

  /// Returns the slice's gradient as fp32: in place, or in a buffer that the next call reuses.
  std::span<const float> Source(const GradientSlice& slice);
  /// Returns the memory for the slice's fp32 result: its update, or the staging buffer.
  std::span<float> Target(const GradientSlice& slice);
  /// Returns the slice's place in the staging buffer.
  std::span<float> Staged(const GradientSlice& slice);
  /// Returns the whole staging buffer: elements() values.
  std::span<float> staging();
  /// Copies the slice's gradient, scaled, to `out`: its place in the staging buffer, or another.
  void StageAt(const GradientSlice& slice, std::span<float> out);
  /// Fills the staging buffer with all gradients.
  void Stage();
  /// Does the same, with zeros, which are counted, in place of inf and NaN: for routes on which
  /// others get the values before a compressor sees them.
  void StageFinite();

  /// Returns the squared norms of the scaled gradients, by slice. Not finite if an entry is not.
  std::vector<double> SquaredNorms();

  /// Returns an upper bound of what Encode writes: for one slice, or for all of them, which may be
  /// less than the sum.
  std::size_t MaxEncodedBytes(const GradientSlice& slice, double density) const;
  std::size_t MaxEncodedBytes(double density) const;
  /// Encodes the slice's gradient as Compressor::Encode does, slice by slice in order. Until Keep,
  /// Revert takes that back. If entries are selected together, the first call takes all gradients
  /// into their memory.
  std::size_t Encode(const GradientSlice& slice, std::span<std::byte> payload);
  /// Encodes the slice's part of the staging buffer, which is scaled already.
  std::size_t EncodeStaged(const GradientSlice& slice, std::span<std::byte> payload);
  /// Encodes all gradients on the GPU, if kernels compress all (GpuCompression::payloads).
  void EncodeAllOnGpu();
  /// True if Drain can be called for all of them.
  bool drains() const;
  /// Empties the slice's memory, the gradient included (Compressor::Drain), slice by slice in
  /// order. Until Keep, Revert takes that back. The values stay where they are until then.
  std::span<const float> Drain(const GradientSlice& slice, DType type);
  /// Counts a slice, the next one in order, as encoded in another way.
  void CountEncoded() { ++encoded_; }
  /// Lets the compressor finish the slice's mean, which it may do in place, and delivers it.
  void Finish(const GradientSlice& slice, std::span<float> mean) const;
  /// Writes the means of what all senders' payloads decode to, by sender then slice, to the
  /// updates, finished. The caller has checked the payloads.
  using Payloads = std::vector<std::span<const std::byte>>;
  void MergeMeans(std::span<const Payloads> received);

  // Members for gradients on a GPU.
  /// Forwards to GpuSlices: when all are submitted, and then before all else in a step.
  void RecordProgram() {
    if (gpu_) gpu_->RecordProgram();
  }
  void WaitForProgram() {
    if (gpu_) gpu_->WaitForProgram();
  }
  GpuStream& gpu_stream() { return gpu_->stream(); }
  /// Returns the compression by kernels, which there must be.
  GpuCompression& gpu_compression() { return *gpu_compression_; }
  bool has_gpu_compression() const { return gpu_compression_ != nullptr; }

  /// False if routes may touch the slice's gradient and update only by the members that follow.
  static bool OnHost(const GradientSlice& slice) { return !slice.on_gpu; }
  /// Copies a result to the slice's update, unless it lies there.
  void Deliver(const GradientSlice& slice, std::span<const float> result) const;
  /// Waits until all delivered results are there.
  void AwaitDelivery();
  /// Notes that all that leads to the results is in gpu_stream(), though it may not be done: other
  /// streams may be made to wait for them.
  void ResultsQueued();
  /// Sets a function that ResultsQueued calls, on the network thread.
  void OnResultsQueued(std::function<void()> call) { on_results_queued_ = std::move(call); }
  /// Makes later work in the stream wait for the results that were queued last.
  void LetWait(void* stream) const;

  /// Counts what was encoded so far, if anything, as sent for good.
  void Keep();
  /// True if, since Keep, kernels were asked to change compressors' memory by what an exchange
  /// brings. If that failed, the memory may be anything; Revert does not take it back.
  bool ResultsAreInMemory() const;
  /// Counts what was encoded as not sent, because the exchange failed.
  void Revert();
  /// Marks the memory of all compressors, or of a slice's, and goes back to it, as if no gradient
  /// had come since.
  void Mark();
  void Mark(std::size_t slice);
  void GoBack();
  void GoBack(std::size_t slice);

 private:
  enum class Origin : bool { kSubmitted, kStaged };
  std::size_t EncodeFrom(Origin origin, const GradientSlice& slice, std::span<std::byte> payload);
  /// Encodes a slice on the GPU. The first call does the work of all (GpuCompression).
  std::size_t EncodeOnGpu(Origin origin, const GradientSlice& slice, std::span<std::byte> payload);
  StepContext ContextOf(const GradientSlice& slice, Origin origin) const;
  std::span<const float> GradientOf(const GradientSlice& slice, Origin origin);
  void SelectTogether(Origin origin);
  /// Fills in the slice's trace.
  void LookAt(GradientSlice& slice, std::span<const std::byte> payload, Origin origin);

  const std::string bucket_;
  const std::uint32_t index_;
  std::vector<GradientSlice> slices_;
  std::optional<JointSelection> joint_;  ///< Selects entries of several tensors together.
  const GroupStep& step_;
  std::size_t elements_ = 0;
  std::size_t largest_slice_ = 0;
  std::size_t encoded_ = 0;       ///< Number of slices encoded so far, in order.
  std::vector<float> staging_;    ///< Fused, converted or summed gradients.
  std::vector<float> converted_;  ///< One slice as fp32, if gradients are not.
  std::unique_ptr<GpuSlices> gpu_;
  std::unique_ptr<GpuEvent> results_;  ///< Null: none were queued yet.
  std::function<void()> on_results_queued_;
  std::unique_ptr<GpuCompression> gpu_compression_;
  bool results_queued_ = false;  ///< True: queued since Keep.
  Payloads of_slice_;            ///< Payloads of one slice, by sender.
};

}  // namespace weir
