#include "examples/01-byte-lm/validation.h"

#include <algorithm>
#include <numbers>

namespace byte_lm {

Validation::Validation(std::span<const std::uint8_t> text, const ModelShape& shape)
    : text_(text),
      windows_(CountWindows(text.size(), shape.context)),
      batch_(shape.context, kBatch),
      activations_(shape, kBatch) {}

double Validation::Subset(const Model& model, Trainer& trainer, std::size_t windows) {
  return Score(model, trainer,
               std::max<std::size_t>(1, windows_ / std::max<std::size_t>(1, windows)));
}

double Validation::Score(const Model& model, Trainer& trainer, std::size_t stride) {
  const auto rank = static_cast<std::size_t>(trainer.rank());
  const auto ranks = static_cast<std::size_t>(trainer.ranks());
  double nats = 0.0;
  double scored = 0.0;
  for (std::size_t start = rank * stride; start < windows_;) {
    int filled = 0;
    for (; filled < kBatch && start < windows_; ++filled, start += ranks * stride) {
      batch_.Set(filled, text_, start);
    }
    // The columns past `filled` still hold windows of the last batch, and are not counted.
    model.Forward(batch_, activations_);
    nats += activations_.loss.head(filled).cast<double>().sum();
    scored += filled;
  }
  return trainer.SumOverRanks(nats) / trainer.SumOverRanks(scored) / std::numbers::ln2;
}

}  // namespace byte_lm
