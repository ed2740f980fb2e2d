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
  std::size_t offset = 0;  ///< In the bucket's staging buffer, in elements.
  DType dtype = DType::kFloat32;
  int parameter_group = 0;
  TensorCompression* compression = nullptr;  ///< One of the next two.
  Compressor* compressor = nullptr;          ///< Encodes on the CPU; or:
  GpuCompressor* gpu = nullptr;              ///< The bucket's kernels do.
  int server = 0;                            ///< Who adds up, where the route has servers.
  Compressor* answering = nullptr;           ///< Where that is this rank: compresses the mean.
  bool on_gpu = false;

  // One step's submission.
  void* stream = nullptr;          ///< On a GPU: in which the program works on it and its update.
  const void* gradient = nullptr;  ///< Null: zeros.
  void* update = nullptr;          ///< Null: the result is dropped.
  std::shared_ptr<const void> owner;
  Handle handle = kNoHandle;
  std::uint32_t record_index = 0;  ///< Its number in BucketNames.

  /// What the step's record will say of it.
  struct Trace {
    std::int64_t submitted_ns = 0;               ///< 0: it was not.
    std::optional<std::size_t> payload_bytes{};  ///< Nothing where it was not encoded by itself.
    float density = 1.0f;                        ///< Fraction of its entries that were sent.
    float residual_ratio = -1.0f;                ///< See ResidualRatio; measured in turns.
  };
  Trace trace;

  /// Entries that were inf or NaN and left out before the compression saw them.
  std::uint64_t non_finite = 0;

  void Use(Compressor& one) { compression = compressor = &one; }
  void Use(GpuCompressor& one) { compression = gpu = &one; }
  /// As of Compressor; null also where kernels encode.
  JointCompressor* joint() const { return compressor == nullptr ? nullptr : compressor->joint(); }
  FactorCompressor* factors() const {
    return compressor == nullptr ? nullptr : compressor->factors();
  }
};

/// What a step has in common for all buckets of a group. Written between steps (and by the gate).
struct GroupStep {
  std::int64_t step = 0;
  double density = 1.0;
  std::uint32_t epoch = 0;
  CodecId codec = CodecId::kDense;        ///< Of frames.
  Reduction reduction;                    ///< Where gradients or arrays are all-reduced.
  const HostGrid* hosts = nullptr;        ///< The ranks by host, where the group goes by hosts.
  bool halves_inside_hosts = false;       ///< What they average there is fp16.
  const GroupServers* servers = nullptr;  ///< Where it has servers beside its ranks.
  /// By rank, those on which all gradients lie, where NCCL is between them.
  const std::vector<std::string>* gpus = nullptr;
  bool asynchronous = false;          ///< Ranks do not wait for each other (max_staleness).
  std::vector<StepContext> contexts;  ///< By parameter group.
};

/// The gradients of a bucket, as its routes work on them: where they lie, their compressors and the
/// buffer in which they are fused. Belongs to whoever holds the bucket.
class GradientSlices {
 public:
  /// `bucket` is its name, `index` its number in the plan.
  /// `gpu`: where those lie that lie on one.
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
  /// Of the frames of this step.
  BucketFrame::Identity FrameIdentity() const {
    return {step_.epoch, step_.step, index_, elements_, step_.codec};
  }
  /// The type of their payloads, if all of them are arrays of the same type.
  std::optional<DType> summable() const;

  /// The slice's gradient as fp32: in place, or in a buffer that the next call reuses.
  std::span<const float> Source(const GradientSlice& slice);
  /// Where the slice's fp32 result is computed: its update, or the staging buffer.
  std::span<float> Target(const GradientSlice& slice);
  /// The slice's place in the staging buffer.
  std::span<float> Staged(const GradientSlice& slice);
  /// All of it: elements() values.
  std::span<float> staging();
  /// Copies the slice's gradient, scaled, to `out`: its place in the staging buffer, or another.
  void StageAt(const GradientSlice& slice, std::span<float> out);
  /// Fills the staging buffer with all of them.
  void Stage();
  /// The same with zeros, which are counted, for what is inf or NaN: where others would get that
  /// before a compressor sees it.
  void StageFinite();

  /// The squared norms of the scaled gradients, slice by slice. Not finite where an entry is not.
  std::vector<double> SquaredNorms();

  /// Upper bounds of what Encode writes: for one slice, and for all of them, which may be less than
  /// the sum.
  std::size_t MaxEncodedBytes(const GradientSlice& slice, double density) const;
  std::size_t MaxEncodedBytes(double density) const;
  /// Encodes the slice's gradient, slice by slice in order; until Keep, Revert takes that back. As
  /// Compressor::Encode; the first one takes the gradients of all into their memory where entries
  /// are selected together.
  std::size_t Encode(const GradientSlice& slice, std::span<std::byte> payload);
  /// The same of what lies in the staging buffer, scaled already.
  std::size_t EncodeStaged(const GradientSlice& slice, std::span<std::byte> payload);
  /// Encodes all of them on the GPU, where kernels compress them all (GpuCompression::payloads).
  void EncodeAllOnGpu();
  /// Counts a slice, the next one in order, as encoded in another way.
  void CountEncoded() { ++encoded_; }
  /// Lets the compressor finish the slice's mean, which it may do in place, and delivers it.
  void Finish(const GradientSlice& slice, std::span<float> mean) const;
  /// Brings the means of what all senders' payloads decode to, by sender then slice, into the
  /// updates, finished. The payloads are checked.
  using Payloads = std::vector<std::span<const std::byte>>;
  void MergeMeans(std::span<const Payloads> received);

  // Of gradients on a GPU.
  /// All are submitted, and then before all else in a step: as of GpuSlices.
  void RecordProgram() {
    if (gpu_) gpu_->RecordProgram();
  }
  void WaitForProgram() {
    if (gpu_) gpu_->WaitForProgram();
  }
  GpuStream& gpu_stream() { return gpu_->stream(); }
  /// Where kernels compress some of them.
  GpuCompression& gpu_compression() { return *gpu_compression_; }
  bool has_gpu_compression() const { return gpu_compression_ != nullptr; }

  /// False: routes may not touch the slice's gradient and update, but for what follows.
  static bool OnHost(const GradientSlice& slice) { return !slice.on_gpu; }
  /// Hands a result over to where the slice's belongs, unless it lies there.
  void Deliver(const GradientSlice& slice, std::span<const float> result) const;
  /// What was handed over is there.
  void AwaitDelivery();
  /// All that leads to the results is in gpu_stream(), though it may not be done: what waits for
  /// them may be given to other streams.
  void ResultsQueued();
  /// Called then, by the network thread.
  void OnResultsQueued(std::function<void()> call) { on_results_queued_ = std::move(call); }
  /// What is given to the stream from here on waits for the results that were queued last.
  void LetWait(void* stream) const;

  /// Nothing is encoded yet, or what was sent is sent.
  void Keep();
  /// Since Keep, kernels were asked to change compressors' memory by what an exchange brings:
  /// should that have failed, by anything. Revert does not take it back.
  bool ResultsAreInMemory() const;
  /// The exchange failed: what was encoded counts as not sent.
  void Revert();

 private:
  enum class Origin : bool { kSubmitted, kStaged };
  std::size_t EncodeFrom(Origin origin, const GradientSlice& slice, std::span<std::byte> payload);
  /// The first one does the work of all (GpuCompression).
  std::size_t EncodeOnGpu(Origin origin, const GradientSlice& slice, std::span<std::byte> payload);
  StepContext ContextOf(const GradientSlice& slice, Origin origin) const;
  std::span<const float> GradientOf(const GradientSlice& slice, Origin origin);
  void SelectTogether(Origin origin);
  /// For the slice's trace.
  void LookAt(GradientSlice& slice, std::span<const std::byte> payload, Origin origin);

  const std::string bucket_;
  const std::uint32_t index_;
  std::vector<GradientSlice> slices_;
  std::optional<JointSelection> joint_;  ///< Of those whose entries are selected together.
  const GroupStep& step_;
  std::size_t elements_ = 0;
  std::size_t largest_slice_ = 0;
  std::size_t encoded_ = 0;       ///< The first so many slices.
  std::vector<float> staging_;    ///< Fused, converted or summed gradients.
  std::vector<float> converted_;  ///< One slice as fp32, when gradients are not.
  std::unique_ptr<GpuSlices> gpu_;
  std::unique_ptr<GpuEvent> results_;  ///< Null: none were queued yet.
  std::function<void()> on_results_queued_;
  std::unique_ptr<GpuCompression> gpu_compression_;
  bool results_queued_ = false;  ///< Since Keep.
  Payloads of_slice_;            ///< By sender.
};

}  // namespace weir
