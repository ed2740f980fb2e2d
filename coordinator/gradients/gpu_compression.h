#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_compressor.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir {

struct GradientSlice;
struct GroupStep;

/// Does the work of those compressors of a bucket whose memory lies on a GPU (GpuCompressor), there
/// and for all of them at once. Payloads are made on the GPU and copied to the host; those of all
/// ranks are copied back and merged straight into the updates. Belongs to whoever holds the bucket.
class GpuCompression {
 public:
  using Payload = std::span<const std::byte>;

  /// Returns null without such compressors. `slices`, the whole bucket, and the rest live longer.
  static std::unique_ptr<GpuCompression> Make(GpuStream& stream,
                                              std::span<const GradientSlice> slices,
                                              const GroupStep& step);

  /// Takes the gradients of this step into the compressors' memory and makes all payloads, which
  /// are there when this returns. The gradients are as they were submitted, or those of `staged`,
  /// the bucket's staging buffer, which are scaled already.
  void Encode();
  void EncodeStaged(std::span<const float> staged);
  /// Encodes, but leaves the payloads on the GPU, in payloads(), once the stream has come so far.
  void EncodeOnGpu();
  /// Returns the payload that the last Encode made of a slice.
  Payload PayloadOf(const GradientSlice& slice) const;
  /// True if anything was encoded since Keep or Undo.
  bool encoded() const {
    return std::ranges::any_of(sent_, [](bool sent) { return sent; });
  }
  /// Counts what was sent since Keep as not sent.
  void Undo();
  /// Counts what was sent as sent for good: Undo does not take it back.
  void Keep() { sent_ = {}; }

  // Members for all payloads of a step as one, in the GPU's memory.
  /// Makes room for the payloads of the step. Returns their bytes, the same on all ranks.
  std::size_t PlacePayloads();
  std::span<std::byte> payloads();
  /// Writes payloads that change nothing, for a rank that has no gradients.
  void WriteZeros();

  /// Makes room for MergeGathered or DeliverReduced of payloads of so many ranks, which then wait
  /// for nothing. Called after EncodeOnGpu.
  void ReserveMerge(std::size_t ranks);
  /// True if Undo needs payloads() as they were made.
  bool undoes_from_payloads() const;

  // Results are in the updates once the stream has come so far.
  /// Writes the means of what all ranks have sent, by rank then slice, to the updates, and finishes
  /// them. The caller has checked the payloads.
  void MergeMeans(std::span<const std::vector<Payload>> received);
  /// Does the same with payloads() of so many ranks, one behind the other on the GPU. They are not
  /// checked: invalid ones give a wrong mean.
  void MergeGathered(const std::byte* gathered, int ranks);
  /// Writes the sums of all ranks' payloads(), made by NCCL, to the updates, divided by `divisor`,
  /// and finishes them.
  void DeliverReduced(const std::byte* sums, std::size_t divisor);
  /// Finishes the mean of a slice if that is the kernels' work (Finishes), and delivers it.
  void Finish(const GradientSlice& slice, std::span<const float> mean);
  /// Finishes a mean that lies on the GPU, perhaps where the update does.
  void FinishOnGpu(const GradientSlice& slice, const float* mean);
  bool Finishes(const GradientSlice& slice) const;

  /// Fetches what the kernels have found out. TellFindings tells the compressors, once the stream
  /// has come so far.
  void FetchFindings();
  void TellFindings();

 private:
  /// A slice with such a compressor.
  struct Member {
    const GradientSlice* slice;
    GpuCompressor* compressor;
    std::size_t number;             ///< Number among those of its kind.
    std::size_t payload_at = 0;     ///< Place in on_gpu_ and encoded_.
    std::size_t payload_bytes = 0;  ///< Most bytes in this step.

    /// Returns the kind of its kernels.
    std::size_t kind() const { return KindOf(compressor->rule()); }
  };
  /// Gradient that a slice's memory takes in.
  struct Source {
    const void* gradient;
    DType dtype;
    float scale;
  };

  GpuCompression(GpuStream& stream, std::vector<Member> members,
                 std::span<const GradientSlice> slices, const GroupStep& step);
  /// Calls visit(kind, its kernels) for each kind that there is.
  template <typename Visit>
  void ForEachKind(const Visit& visit);
  const Member& MemberOf(const GradientSlice& slice) const;
  void ForgetRestored();
  template <typename SourceOf>
  void EncodeFrom(const SourceOf& source_of);
  void FetchPayloads();
  /// Merges payloads into the updates; placed[m][r] is rank r's payload of member m.
  void MergePlaced(std::span<const std::vector<GpuMean::Payload>> placed);
  /// Copies the payloads to the GPU, and returns where they lie there, by member then rank.
  std::vector<std::vector<GpuMean::Payload>> Upload(std::span<const std::vector<Payload>> received);

  GpuStream& stream_;
  const std::span<const GradientSlice> slices_;
  const GroupStep& step_;
  std::vector<Member> members_;
  /// Array with an entry for each kind; null: no member is of that kind.
  template <typename T>
  using ByKind = std::array<T, kGpuKinds>;
  ByKind<std::unique_ptr<GpuBucketCompressor>> kernels_;
  ByKind<bool> sent_{};  ///< True: sent since Keep.

  GpuMemory on_gpu_;       ///< This rank's payloads.
  std::size_t bytes_ = 0;  ///< Bytes of all of them.
  GpuMemory encoded_;      ///< This rank's payloads, on the host.
  GpuMemory arrived_;      ///< All ranks' payloads, on the host.
  GpuMemory to_merge_;     ///< All ranks' payloads, on the GPU.
  GpuMemory staged_;       ///< Gradients of the staging buffer.
  GpuMemory means_;        ///< Means to be finished, on the host, each at its offset.
  GpuMemory means_on_gpu_;
};

}  // namespace weir
