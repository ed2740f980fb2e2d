#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir {

struct GradientSlice;

/// Those gradients of a bucket that lie on a GPU (GradientSlice::on_gpu), on their way through the
/// host's memory: what all routes can work with. Belongs to whoever holds the bucket.
class GpuSlices {
 public:
  /// `slices`: all of the bucket, which live longer than this.
  GpuSlices(const Gpu& gpu, std::span<const GradientSlice> slices);

  /// All of the step are submitted: what their streams hold now is the program's work on them.
  void RecordProgram();
  /// What stream() is given from here on waits for that: first of all in a step. Without effect
  /// when called again.
  void WaitForProgram();

  /// The slice's gradient of this step, as it is, until the step ends. Those of the whole bucket
  /// are on their way once the first one was asked for, in their order and in chunks: what is done
  /// with the first ones need not wait for the last.
  const void* Gradient(const GradientSlice& slice);
  /// Copies a result, converted, to where the slice's belongs, once stream() has come so far.
  void Deliver(const GradientSlice& slice, std::span<const float> result);
  GpuStream& stream() { return stream_; }

  /// The squared norms of all these gradients of this step, in the bucket's order, 0 for one that
  /// is not the kernels' (IsMeasured); scale(slice) is what each is multiplied by.
  std::vector<double> SquaredNorms(const std::function<float(const GradientSlice&)>& scale);
  /// Kernels read no fp64.
  static bool IsMeasured(const GradientSlice& slice);
  /// The step is over.
  void Forget() {
    fetched_ = waits_ = false;
    program_streams_.clear();
  }

 private:
  void Fetch();
  std::size_t NumberOf(const GradientSlice& slice) const;

  const std::span<const GradientSlice> slices_;
  GpuStream stream_;
  /// Where a slice lies in the pinned memory, and in which chunk.
  struct Place {
    std::size_t at;
    std::size_t chunk;
  };
  std::vector<Place> places_;                      ///< By slice.
  std::size_t bytes_ = 0;                          ///< Of all of them.
  std::vector<std::unique_ptr<GpuEvent>> chunks_;  ///< Each has been copied.
  std::size_t arrived_ = 0;                        ///< So many chunks, in this step.
  // Pinned, made when first needed; each slice at its place.
  GpuMemory gradients_;
  GpuMemory results_;
  std::unique_ptr<GpuNorms> norms_;     ///< Of those that IsMeasured; made when first asked for.
  std::vector<void*> program_streams_;  ///< Of this step; usually one.
  std::vector<std::unique_ptr<GpuEvent>> program_work_;  ///< In each of them, and perhaps more.
  bool fetched_ = false;
  bool waits_ = false;
};

}  // namespace weir
