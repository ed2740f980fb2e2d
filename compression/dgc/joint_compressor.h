#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "compression/compressor.h"
#include "compression/cpu/dgc_step.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

/// Additional interface (Compressor::joint) of a compressor whose entries may be selected together
/// with those of other tensors (compression/dgc/joint_selection.h): its Encode in three parts, with
/// the selection in the middle. Not thread-safe.
class JointCompressor {
 public:
  virtual ~JointCompressor() = default;

  /// Form of its payloads; `n` is the tensor's.
  virtual SparseForm form() const = 0;

  /// Adds the local gradient to the memory, and collects the entries that reach
  /// `threshold`, as DgcStep::Accumulate does.
  virtual void Accumulate(const StepContext& context, std::span<const float> gradient,
                          std::size_t k, std::optional<float> threshold) = 0;

  /// The step, which shows the collected entries and takes some of them.
  virtual cpu::DgcStep& step() = 0;

  /// Writes the taken entries and counts them as sent; until then nothing is. Returns the bytes
  /// written. Compressor::Revert takes it back.
  virtual std::size_t EncodeTaken(const StepContext& context, std::span<std::byte> payload) = 0;
};

}  // namespace weir
