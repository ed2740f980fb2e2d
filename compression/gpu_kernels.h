#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/gpu_library.h"
#include "compression/dgc_math.h"
#include "compression/value_type.h"
#include "weir/dtype.h"

/// Compression on GPUs: what libweir_cuda.so does of it (compression/cuda/), with the bits of the
/// CPU. All pointers to numbers and payloads are the device's. Calls return before the GPU has done
/// what they ask for, in the order of `stream` (a cudaStream_t; null is the default stream), and
/// throw std::runtime_error with what CUDA says.
namespace weir {

/// One tensor of a GpuDgc.
struct GpuDgcTensor {
  std::size_t n = 0;  ///< 1 <= n < 2^32.
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  bool masking = true;
  ValueType values = ValueType::kFloat16;  ///< Or kFloat32.
  DType dtype = DType::kFloat32;           ///< Of the gradient: or kFloat16, kBFloat16.
};

/// Deep Gradient Compression of all tensors of a bucket (compression/dgc.h), with u and v in the
/// memory of the GPU: one launch takes all gradients in. Nothing waits for the GPU, and nothing is
/// allocated while the counts of entries stay as they are. Not thread-safe; all calls with one
/// stream, or ordered by the caller.
class GpuDgc {
 public:
  virtual ~GpuDgc() = default;

  /// One tensor in a step.
  struct Part {
    const void* gradient = nullptr;  ///< n entries; null for zeros.
    float scale = 1.0f;              ///< StepContext::gradient_scale.
    std::size_t k = 1;               ///< Entries to send, of n.
    std::byte* payload = nullptr;    ///< SparsePayloadBytes(n, k, values) bytes; any alignment.
  };
  /// Not before the GPU has done the last one. Takes the gradients in, selects, writes the payloads
  /// and takes out of u and v what they hold: Dgc::Encode. `parts` in the order of the tensors.
  virtual void Encode(std::span<const Part> parts, void* stream) = 0;

  /// Puts back what the last Encode took out; nothing if that was done already.
  virtual void Undo(void* stream) = 0;

  /// Of tensor i, n entries; null without momentum. For saving and restoring, while no call is
  /// under way; Forget after writing.
  virtual float* momentum(std::size_t i) = 0;
  virtual float* velocity(std::size_t i) = 0;
  virtual void Forget(void* stream) = 0;

  /// Of one tensor, after its last Encode.
  struct Report {
    float kth_magnitude = 0.0f;    ///< The smallest |v| that was sent.
    std::uint32_t candidates = 0;  ///< Entries that reached the pass's threshold.
    bool reread = false;           ///< Too few or too many of them: v was read again.
    std::uint64_t non_finite = 0;  ///< See DgcStep::non_finite_entries.
  };
  /// Copies the reports of all tensors to the host's memory `reports`.
  virtual void Read(std::span<Report> reports, void* stream) = 0;
};

/// The table of libweir_cuda.so's kernels.
struct GpuKernels {
  /// fp32 to 16 bits and back (common/half.h, the same bits).
  void (*to_half)(const float* values, std::uint16_t* halves, std::size_t n, DType half,
                  void* stream) = nullptr;
  void (*from_half)(const std::uint16_t* halves, float* values, std::size_t n, DType half,
                    void* stream) = nullptr;

  /// With u = v = 0.
  std::unique_ptr<GpuDgc> (*make_dgc)(std::span<const GpuDgcTensor> tensors) = nullptr;
};

/// Null where the library cannot be used (GpuLibrary::trouble).
const GpuKernels* KernelsOf(const GpuLibrary& library);

}  // namespace weir
