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

/// Moves the gradients of a bucket that lie on a GPU (GradientSlice::on_gpu) through the host's
/// memory, which all routes can work with. Belongs to whoever holds the bucket.
class GpuSlices {
 public:
  /// Takes all slices of the bucket, which must outlive this object.
  GpuSlices(const Gpu& gpu, std::span<const GradientSlice> slices);

  /// Records the program's work on the gradients in their streams, after all are submitted.
  void RecordProgram();
  /// Makes later work in stream() wait for that work. Called before all else in a step; without
  /// effect when called again.
  void WaitForProgram();

  /// Returns the slice's gradient of this step, unconverted, until the step ends. The first call
  /// starts the copies of the whole bucket, in order and in chunks: work on the first gradients
  /// need not wait for the last.
  const void* Gradient(const GradientSlice& slice);
  /// Copies a result, converted, to the slice's update, once stream() has come so far.
  void Deliver(const GradientSlice& slice, std::span<const float> result);
  GpuStream& stream() { return stream_; }

  /// Returns the squared norms of all these gradients of this step, in the bucket's order; 0 for
  /// one that is not the kernels' (IsMeasured). Each is multiplied by scale(slice) first.
  std::vector<double> SquaredNorms(const std::function<float(const GradientSlice&)>& scale);
  /// True if kernels measure the gradient: they read no fp64.
  static bool IsMeasured(const GradientSlice& slice);
  /// Forgets the step, which is over.
  void Forget() {
    fetched_ = waits_ = false;
    program_streams_.clear();
  }

 private:
  void Fetch();
  std::size_t NumberOf(const GradientSlice& slice) const;

  const std::span<const GradientSlice> slices_;
  GpuStream stream_;
  /// Place of a slice in the pinned memory, and its chunk.
  struct Place {
    std::size_t at;
    std::size_t chunk;
  };
  std::vector<Place> places_;                      ///< Indexed by slice.
  std::size_t bytes_ = 0;                          ///< Bytes of all of them.
  std::vector<std::unique_ptr<GpuEvent>> chunks_;  ///< Event of each chunk's copy.
  std::size_t arrived_ = 0;                        ///< Number of chunks copied so far in this step.
  // Pinned memory, made when first needed; each slice is at its place.
  GpuMemory gradients_;
  GpuMemory results_;
  std::unique_ptr<GpuNorms> norms_;     ///< Norms of measured slices; made when first needed.
  std::vector<void*> program_streams_;  ///< Streams of this step; usually one.
  std::vector<std::unique_ptr<GpuEvent>> program_work_;  ///< Event of each stream, and spare ones.
  bool fetched_ = false;
  bool waits_ = false;
};

}  // namespace weir
