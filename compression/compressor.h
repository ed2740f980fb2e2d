#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/gpu/gpu_rule.h"
#include "compression/wire/sparse_payload.h"
#include "weir/dtype.h"

namespace weir {

class FactorCompressor;
class GpuCompressor;
class JointCompressor;
class ThreadPool;

/// What a compressor needs to know about the step it works in. Same on all ranks, but for
/// gradient_scale, rank and pool.
struct StepContext {
  std::int64_t step = 0;       ///< Optimizer step, from 0.
  bool dense_phase = false;    ///< Before rampup_begin_step: gradients travel uncompressed.
  double density = 1.0;        ///< Fraction of entries to send this step (Schedule).
  float learning_rate = 0.0f;  ///< Of the tensor's parameter group, this step.
  float previous_learning_rate = 0.0f;  ///< The step before; equal to learning_rate at step 0.
  /// Every gradient entry is multiplied by this before anything else: 1 / loss scale, times the
  /// local clipping coefficient.
  float gradient_scale = 1.0f;
  /// Of this process in the job: random numbers that are not to be alike on all ranks take it in.
  int rank = 0;
  /// As `rank`, of a server's answer: with the draws of a push it would round that push again, and
  /// be wrong on average.
  static constexpr int kAnswer = -1;
  /// Shares the work of this step's calls, if any. Results do not depend on it. This rank's own.
  ThreadPool* pool = nullptr;
};

/// The compressing and remembering of one tensor on one rank: a Codec (numbers to bytes), wrapped
/// by a Memory (what was not sent, momentum). Made from the string dictionary by MakeCompressor
/// (compression/options/registry.h).
///
/// One step of a tensor is Encode, exchange, Merge of every rank's payload in rank order into a
/// sum, division by the number of ranks, Finish. In the dense phase it is exchange of the scaled
/// gradient and Finish. Not thread-safe; Check, Merge and MergeMean alone may run beside each
/// other.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Upper bound of what Encode writes at this density, known beforehand, equal on all ranks.
  virtual std::size_t MaxEncodedBytes(double density) const = 0;

  /// Takes the local gradient into the memory and writes what this rank contributes. Returns the
  /// bytes written, at most MaxEncodedBytes(context.density). A non-finite entry counts as 0 and is
  /// counted (see non_finite_entries), so the memory is never poisoned.
  virtual std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                             std::span<std::byte> payload) = 0;

  /// Throws Corrupt if the payload is not one that Encode of this tensor could have written: every
  /// length and index is bounded by what this rank knows.
  virtual void Check(std::span<const std::byte> payload) const = 0;

  /// sum += decoded payload. Touches only what the payload names. Throws as Check does, with sum
  /// unchanged. An empty payload contributes nothing.
  virtual void Merge(std::span<const std::byte> payload, std::span<float> sum) const = 0;

  /// mean = the mean of what the payloads of all ranks, in rank order, decode to. The same bits as
  /// Merge of each into zeros and a division by their number, which is what the default does.
  /// Throws as Check does; call that first where `mean` must stay as it is.
  virtual void MergeMean(std::span<const std::span<const std::byte>> payloads,
                         std::span<float> mean) const;

  /// Turns the mean over ranks into the direction the optimizer applies, in place: momentum after
  /// the exchange for tensors, or phases, that travel dense. Default: nothing.
  virtual void Finish(const StepContext& context, std::span<float> mean);

  /// Undoes the sending of the last Encode after its exchange failed: the gradient stays
  /// accumulated, nothing was sent.
  virtual void Revert() = 0;

  /// Set when payloads are plain arrays of this type that may be summed by an all-reduce instead of
  /// gathered and merged (dense, fp16, bf16).
  virtual std::optional<DType> summable() const { return std::nullopt; }

  /// This compressor as one that can send two factors in two all-reduces, or null
  /// (compression/powersgd/factor_compressor.h). Such a one is also summable, as fp32.
  virtual FactorCompressor* factors() { return nullptr; }

  /// This compressor as one whose entries are to be selected together with those of the other
  /// tensors of its bucket, or null (compression/dgc/joint_compressor.h). Encode selects its own.
  virtual JointCompressor* joint() { return nullptr; }

  /// Set where kernels can do this compressor's work; its memory is then this of GpuCompressor.
  virtual std::optional<GpuRule> gpu_rule() const { return std::nullopt; }
  /// This compressor as one whose memory lies on a GPU, or null (compression/gpu/gpu_compressor.h).
  virtual GpuCompressor* gpu() { return nullptr; }

  /// Set when a payload is a list of entries which a route may divide by index (topk, dgc), to the
  /// type that holds their values however they are divided. Not with low-bit values.
  virtual std::optional<ValueType> entry_values() const { return std::nullopt; }
  /// The entries of a payload, everything else being zero; none of an empty one. Throws as Check
  /// does. Only where entry_values() is set.
  virtual SparseEntries Entries(std::span<const std::byte> payload) const;

  /// Non-finite gradient entries met since construction.
  virtual std::uint64_t non_finite_entries() const = 0;

  /// |v|-threshold of the last Encode, 0 when the compressor has none. For monitoring.
  virtual float threshold() const { return 0.0f; }

  /// How many entries of the tensor a payload of its own holds; nothing when that is all of them.
  /// For monitoring.
  virtual std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const;
  /// What was accumulated and not sent, n values; empty when nothing is kept, or not as such. For
  /// monitoring.
  virtual std::span<const float> residual() const { return {}; }

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
