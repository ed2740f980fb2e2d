#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "examples/01-byte-lm/data.h"
#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/trainer.h"

namespace byte_lm {

/// Scores a model on text it was not trained on, in bits per byte: the mean of -log2 p(next byte)
/// over windows of the text. Windows are dealt to the ranks in turn and their scores are summed, so
/// every rank gets the same number and must call at the same point.
class Validation {
 public:
  /// Keeps a view of the text and its own activations for batches of kBatch windows.
  Validation(std::span<const std::uint8_t> text, const ModelShape& shape);

  /// Scores all windows.
  double Whole(const Model& model, Trainer& trainer) { return Score(model, trainer, 1); }
  /// Scores about `windows` of them, evenly spread; the same ones at every call.
  double Subset(const Model& model, Trainer& trainer, std::size_t windows);

 private:
  static constexpr int kBatch = 256;

  double Score(const Model& model, Trainer& trainer, std::size_t stride);

  std::span<const std::uint8_t> text_;
  std::size_t windows_;
  Batch batch_;
  Activations activations_;
};

}  // namespace byte_lm
