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

/// The work of those of a bucket's compressors whose memory lies on a GPU (GpuCompressor), done
/// there for all of them at once. Payloads are made on the GPU and copied to the host; those of all
/// ranks are copied back and merged straight into the updates. Belongs to whoever holds the bucket.
class GpuCompression {
 public:
  using Payload = std::span<const std::byte>;

  /// Null without such compressors. `slices`, all of the bucket, and the others live longer.
  static std::unique_ptr<GpuCompression> Make(GpuStream& stream,
                                              std::span<const GradientSlice> slices,
                                              const GroupStep& step);

  /// Takes the gradients of this step into the compressors' memory and makes all payloads, which
  /// are there when this returns: the gradients as they were submitted, or those of `staged`, the
  /// bucket's staging buffer, which are scaled already.
  void Encode();
  void EncodeStaged(std::span<const float> staged);
  /// As Encode, but the payloads are on the GPU, in payloads(), once the stream has come so far.
  void EncodeOnGpu();
  /// What the last one has made of a slice.
  Payload PayloadOf(const GradientSlice& slice) const;
  /// Whether anything was, since Keep or Undo.
  bool encoded() const {
    return std::ranges::any_of(sent_, [](bool sent) { return sent; });
  }
  /// What was sent since Keep counts as not sent.
  void Undo();
  /// What was sent is sent.
  void Keep() { sent_ = {}; }

  // All payloads of a step as one, in the GPU's memory.
  /// Makes room for those of the step, and returns their bytes: the same on all ranks.
  std::size_t PlacePayloads();
  std::span<std::byte> payloads();
  /// Payloads that change nothing, of a rank that has no gradients.
  void WriteZeros();

  /// Makes room for what MergeGathered or DeliverReduced does with payloads of so many ranks, so
  /// that it waits for nothing. After EncodeOnGpu.
  void ReserveMerge(std::size_t ranks);
  /// Whether Undo needs payloads() as they were made.
  bool undoes_from_payloads() const;

  // Results are in the updates once the stream has come so far.
  /// Brings the means of what all ranks have sent, by rank then slice, into the updates, and
  /// finishes them. The payloads are checked.
  void MergeMeans(std::span<const std::vector<Payload>> received);
  /// The same of payloads(), of as many ranks, that lie one behind the other on the GPU. They are
  /// not checked: what is none gives a wrong mean.
  void MergeGathered(const std::byte* gathered, int ranks);
  /// The sums of all ranks' payloads(), made by NCCL: brings them, divided by `divisor`, into the
  /// updates, and finishes them.
  void DeliverReduced(const std::byte* sums, std::size_t divisor);
  /// Finishes the mean of a slice for which that is the kernels' work (Finishes), and delivers it.
  void Finish(const GradientSlice& slice, std::span<const float> mean);
  /// The same of one on the GPU, which may lie where the update does.
  void FinishOnGpu(const GradientSlice& slice, const float* mean);
  bool Finishes(const GradientSlice& slice) const;

  /// Asks what the kernels have found out; and tells the compressors, once the stream has come so
  /// far.
  void FetchFindings();
  void TellFindings();

 private:
  /// A slice with such a compressor.
  struct Member {
    const GradientSlice* slice;
    GpuCompressor* compressor;
    std::size_t number;             ///< Among those of its kind.
    std::size_t payload_at = 0;     ///< In on_gpu_ and encoded_.
    std::size_t payload_bytes = 0;  ///< At most, in this step.

    /// Which kernels do its work.
    std::size_t kind() const { return KindOf(compressor->rule()); }
  };
  /// What a slice's memory takes in.
  struct Source {
    const void* gradient;
    DType dtype;
    float scale;
  };

  GpuCompression(GpuStream& stream, std::vector<Member> members,
                 std::span<const GradientSlice> slices, const GroupStep& step);
  /// visit(kind, its kernels), of those that there are.
  template <typename Visit>
  void ForEachKind(const Visit& visit);
  const Member& MemberOf(const GradientSlice& slice) const;
  void ForgetRestored();
  template <typename SourceOf>
  void EncodeFrom(const SourceOf& source_of);
  void FetchPayloads();
  /// placed[m][r]: rank r's payload of member m.
  void MergePlaced(std::span<const std::vector<GpuMean::Payload>> placed);
  /// Copies the payloads to the GPU, and returns where they lie there, by member then rank.
  std::vector<std::vector<GpuMean::Payload>> Upload(std::span<const std::vector<Payload>> received);

  GpuStream& stream_;
  const std::span<const GradientSlice> slices_;
  const GroupStep& step_;
  std::vector<Member> members_;
  /// By kind; null where no member is of it.
  template <typename T>
  using ByKind = std::array<T, kGpuKinds>;
  ByKind<std::unique_ptr<GpuBucketCompressor>> kernels_;
  ByKind<bool> sent_{};  ///< Since Keep.

  GpuMemory on_gpu_;       ///< This rank's payloads.
  std::size_t bytes_ = 0;  ///< Of all of them.
  GpuMemory encoded_;      ///< The same on the host.
  GpuMemory arrived_;      ///< All ranks' payloads, on the host.
  GpuMemory to_merge_;     ///< The same on the GPU.
  GpuMemory staged_;       ///< Gradients of the staging buffer.
  GpuMemory means_;        ///< To be finished, on the host, each at its offset.
  GpuMemory means_on_gpu_;
};

}  // namespace weir
