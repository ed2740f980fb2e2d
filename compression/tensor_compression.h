#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compression/payload_reader.h"
#include "compression/step_context.h"

namespace weir {

/// What the compression of one tensor remembers on one rank, and does with what comes back. Its
/// gradients are encoded by a Compressor on the CPU, or by the kernels of a bucket
/// (compression/gpu/gpu_compressor.h). Not thread-safe, but for what reads payloads.
class TensorCompression : public PayloadReader {
 public:
  /// Turns the mean over ranks into the direction the optimizer applies, in place: momentum after
  /// the exchange for tensors, or phases, that travel dense. Default: nothing.
  virtual void Finish(const StepContext& context, std::span<float> mean);
  /// True if Finish changes what is remembered in every step, and not in dense phases alone.
  virtual bool remembers_means() const { return false; }

  /// Non-finite gradient entries met since construction.
  virtual std::uint64_t non_finite_entries() const = 0;

  /// |v|-threshold of the last Encode, 0 when the compressor has none. For monitoring.
  virtual float threshold() const { return 0.0f; }

  /// Named state arrays for saving and restoring (compression/state/state.h), each of a length that
  /// follows from shape and options: n floats, but for "factor" and "moment steps". The spans stay
  /// valid as long as the compressor; loading writes through them and then calls Restored.
  struct StateArray {
    std::string name;  ///< "velocity", "momentum", "error", "factor", "first moment", ...
    std::span<float> values;
  };
  virtual std::vector<StateArray> State() = 0;
  virtual void Restored() {}
};

}  // namespace weir
