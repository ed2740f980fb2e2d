#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "compression/gpu/gpu_rule.h"
#include "compression/tensor_compression.h"
#include "weir/tensor.h"

namespace weir {

class FactorCompressor;
class JointCompressor;

/// Compression and memory of one tensor on one rank: a Codec (numbers to bytes), wrapped by a
/// Memory (what was not sent, momentum). Made from the string dictionary by MakeCompressor
/// (compression/make_compressor.h).
///
/// One step of a tensor is Encode, exchange, Merge of every rank's payload in rank order into a
/// sum, division by the number of ranks, Finish. In the dense phase it is exchange of the scaled
/// gradient and Finish. Not thread-safe, except for reading payloads.
class Compressor : public TensorCompression {
 public:
  /// Takes the local gradient into the memory and writes what this rank contributes. Returns the
  /// bytes written, at most MaxEncodedBytes(context.density). A non-finite entry counts as 0 and is
  /// counted (see non_finite_entries), so the memory is never poisoned.
  virtual std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                             std::span<std::byte> payload) = 0;

  /// Undoes the sending of the last Encode after its exchange failed: the gradient stays
  /// accumulated, nothing was sent.
  virtual void Revert() = 0;

  /// Notes the memory as it is now. GoBack makes it so again, whatever was done since, as often as
  /// it is called. Default: a copy of State.
  virtual void Mark();
  virtual void GoBack();

  /// True if Drain may take Encode's place in any step.
  virtual bool drains() const { return false; }
  /// Takes the local gradient in, as Encode does, and everything out: returns the n values that a
  /// step without compression sends. They travel as `type`: fp32, fp16 (CastCodec) or int8
  /// (Int8Codec). A memory keeps what rounding loses. The values lie here, unchanged, until the
  /// next call of any member. Revert undoes the sending.
  virtual std::span<const float> Drain(const StepContext& context, std::span<const float> gradient,
                                       DType type);

  /// Returns this compressor as one that can send two factors in two all-reduces, or null
  /// (compression/powersgd/factor_compressor.h). Such a compressor is also summable, as fp32.
  virtual FactorCompressor* factors() { return nullptr; }

  /// Returns this compressor as one whose entries are to be selected with those of other tensors of
  /// its bucket, or null (compression/dgc/joint_compressor.h). Encode selects its own.
  virtual JointCompressor* joint() { return nullptr; }

  /// Returns a rule if kernels can do this compressor's work; its memory is then a GpuCompressor's.
  virtual std::optional<GpuRule> gpu_rule() const { return std::nullopt; }

  /// Returns what was accumulated and not sent, n values; empty if nothing is kept, or not in this
  /// form. For monitoring.
  virtual std::span<const float> residual() const { return {}; }

 private:
  std::vector<std::vector<float>> marked_;  ///< By array of State.
};

}  // namespace weir
