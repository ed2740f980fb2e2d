#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/gpu/gpu_library.h"
#include "compression/dgc/dgc_math.h"
#include "compression/gpu/gpu_rule.h"
#include "compression/wire/value_type.h"
#include "weir/dtype.h"

/// Compression on GPUs by libweir_cuda.so (compression/cuda/), with the bits of the CPU. All
/// pointers to numbers and payloads are the device's. Calls return before the GPU has done what
/// they ask for, in the order of `stream` (a cudaStream_t; null is the default stream), and throw
/// std::runtime_error with CUDA's message.
namespace weir {

/// Payloads received for one tensor, and the place of its mean.
struct GpuMean {
  /// A sender's payload, which the caller has checked.
  struct Payload {
    const std::byte* bytes = nullptr;  ///< Null: this rank sent nothing.
    std::uint32_t entries = 0;         ///< Number of its entries, if it lists entries.
  };
  std::span<const Payload> payloads;  ///< Payloads of all ranks, in order; as many for each tensor.
  float gain = 1.0f;                  ///< Additional divisor of a DGC's mean.
  void* mean = nullptr;               ///< n values; null: none is wanted.
  DType dtype = DType::kFloat32;      ///< Type of `mean`: kFloat32, kFloat16 or kBFloat16.
};

/// Does the work of the compressors of a bucket's tensors, for all tensors in one launch of each
/// kernel. Calls never wait for the GPU, and allocate nothing while the counts of entries stay as
/// they are. Not thread-safe. Encode is called when the GPU has done what was asked for before; one
/// MergeMean may be queued behind it. Spans are in the order of the tensors.
class GpuBucketCompressor {
 public:
  virtual ~GpuBucketCompressor() = default;

  /// One tensor in a step.
  struct Input {
    const void* gradient = nullptr;  ///< n entries; null for zeros.
    DType dtype = DType::kFloat32;   ///< Type of the gradient: kFloat32, kFloat16 or kBFloat16.
    float scale = 1.0f;              ///< StepContext::gradient_scale.
    float ratio = 1.0f;              ///< ErrorRatio, if errors are fed back.
    std::size_t k = 1;               ///< Entries to send, of n, if some are selected.
    std::int64_t step = 0;           ///< StepContext::step, if numbers are drawn.
    int rank = 0;
    std::byte* payload = nullptr;  ///< Room for Compressor::MaxEncodedBytes; any alignment.
  };
  /// Does Compressor::Encode: takes the gradients in, writes the payloads, and leaves in the memory
  /// what these lack.
  virtual void Encode(std::span<const Input> inputs, void* stream) = 0;

  /// Does Compressor::Revert of the last Encode; nothing if that was done already.
  virtual void Undo(void* stream) = 0;

  /// Makes room for payloads of so many ranks and, by tensor, so many entries (GpuMean::Payload).
  /// MergeMean of such payloads then allocates nothing and does not wait for the GPU, so that it
  /// can be queued behind an exchange.
  virtual void ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks,
                            void* stream) = 0;
  /// Does Compressor::MergeMean, and its Finish outside the dense phase.
  virtual void MergeMean(std::span<const GpuMean> means, void* stream) = 0;

  /// One tensor's mean of the dense phase, n floats, and the place for n values of `dtype`.
  struct DenseMean {
    const float* mean = nullptr;
    void* out = nullptr;  ///< Null: they are not wanted.
    DType dtype = DType::kFloat32;
    std::int64_t step = 0;  ///< StepContext::step.
  };
  /// Does Compressor::Finish of it.
  virtual void Finish(std::size_t tensor, const DenseMean& mean, void* stream) = 0;

  /// Forgets thresholds, and what Undo would put back, because the memory was written from outside.
  virtual void Forget(void* stream) = 0;

  /// Report on one tensor.
  struct Report {
    std::uint64_t non_finite = 0;  ///< Compressor::non_finite_entries.
    // Findings of a DGC's last Encode.
    float kth_magnitude = 0.0f;    ///< The smallest |v| that was sent.
    std::uint32_t candidates = 0;  ///< Entries that reached the pass's threshold.
    bool reread = false;           ///< True: v was read again, as these were too few or too many.
  };
  /// Copies the reports of all tensors to the host, where they are once the stream has come so far.
  virtual void FetchReports(void* stream) = 0;
  virtual Report ReportOf(std::size_t tensor) const = 0;
};

/// A tensor with Deep Gradient Compression (compression/dgc/dgc.h): one launch takes all gradients
/// in. Its u and v belong to the caller, begin at multiples of 16 bytes, and are written from
/// outside only between steps, followed by Forget.
struct GpuDgcTensor {
  std::size_t n = 0;  ///< 1 <= n < 2^32.
  void* u = nullptr;  ///< Null with Momentum::kNone.
  void* v = nullptr;
  DType state = DType::kFloat32;  ///< Type of u and v: kFloat32 or kBFloat16.
  std::uint32_t seed = 0;         ///< See GpuDgcRule.
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  Masking masking = Masking::kAll;
  ValueType values = ValueType::kFloat16;  ///< kFloat16 or kFloat32.
};

/// A tensor that stays dense while others have DGC (compression/dgc/dense_momentum.h). Otherwise
/// like GpuDgcTensor.
struct GpuDenseTensor {
  std::size_t n = 0;
  float* u = nullptr;      ///< Null with Momentum::kNone.
  float* error = nullptr;  ///< Rounding error so far.
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  ValueType values = ValueType::kFloat16;  ///< kFloat16 or kFloat32.
};

/// A tensor with a codec. Like GpuDgcTensor, but payloads begin at multiples of 16 bytes.
struct GpuCodecTensor {
  std::size_t n = 0;
  float* momentum = nullptr;  ///< Null with GpuCodecRule::Memory::kNone.
  float* error = nullptr;     ///< Null without feedback.
  GpuCodecRule rule;
};

/// A gradient whose norm a GpuNorms takes.
struct GpuNormInput {
  const void* values = nullptr;   ///< Null for zeros.
  DType dtype = DType::kFloat32;  ///< kFloat32, kFloat16 or kBFloat16.
  float scale = 1.0f;
};

/// Measures the squared norms of all gradients of a bucket, with the bits of cpu::SquaredNorm.
/// Otherwise like GpuBucketCompressor.
class GpuNorms {
 public:
  virtual ~GpuNorms() = default;

  /// Measures `parts`, in the order of the tensors.
  virtual void Measure(std::span<const GpuNormInput> parts, void* stream) = 0;
  /// Returns one tensor's norm, once the stream has come so far. Not finite if an entry is not.
  virtual double SquaredNorm(std::size_t tensor) const = 0;
};

/// Packs gradients of a bucket side by side as fp32, and back. Otherwise like GpuBucketCompressor.
class GpuPacking {
 public:
  virtual ~GpuPacking() = default;

  struct Source {
    const void* values = nullptr;   ///< Null for zeros.
    DType dtype = DType::kFloat32;  ///< kFloat32, kFloat16 or kBFloat16.
    float scale = 1.0f;             ///< Factor on the values.
    bool wanted = true;             ///< False: its place stays as it is.
  };
  /// Packs `sources`, in the order of the tensors, in which they also lie in `packed`.
  virtual void Pack(std::span<const Source> sources, float* packed, void* stream) = 0;

  struct Target {
    void* values = nullptr;  ///< Null: nothing is wanted.
    DType dtype = DType::kFloat32;
  };
  virtual void Unpack(const float* packed, std::span<const Target> targets, void* stream) = 0;
};

/// The table of libweir_cuda.so's kernels.
struct GpuKernels {
  /// Converts fp32 to 16 bits and back, with the bits of common/half.h.
  void (*to_half)(const float* values, std::uint16_t* halves, std::size_t n, DType half,
                  void* stream) = nullptr;
  void (*from_half)(const std::uint16_t* halves, float* values, std::size_t n, DType half,
                    void* stream) = nullptr;

  /// Makes an object for tensors of so many elements, at least one each.
  std::unique_ptr<GpuNorms> (*make_norms)(std::span<const std::size_t> elements) = nullptr;
  std::unique_ptr<GpuPacking> (*make_packing)(std::span<const std::size_t> elements) = nullptr;
  std::unique_ptr<GpuBucketCompressor> (*make_dgc)(std::span<const GpuDgcTensor> tensors) = nullptr;
  std::unique_ptr<GpuBucketCompressor> (*make_dense_momentum)(
      std::span<const GpuDenseTensor> tensors) = nullptr;
  /// Makes an object for tensors that all have the same codec.
  std::unique_ptr<GpuBucketCompressor> (*make_codecs)(std::span<const GpuCodecTensor> tensors) =
      nullptr;
};

/// Returns null if the library cannot be used (GpuLibrary::trouble).
const GpuKernels* KernelsOf(const GpuLibrary& library);

}  // namespace weir
