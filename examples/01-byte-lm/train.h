#pragma once

#include <cstdint>
#include <vector>

#include "examples/01-byte-lm/data.h"
#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/options.h"
#include "examples/01-byte-lm/progress.h"
#include "examples/01-byte-lm/trainer.h"

namespace byte_lm {

/// An intermediate validation, on the subset.
struct CurvePoint {
  std::int64_t step = 0;  ///< Steps done.
  double bits_per_byte = 0.0;
};

/// Results of a run, the same on every rank except times and bytes.
struct RunResult {
  double bits_per_byte = 0.0;  ///< At the end, on the whole validation text.
  std::vector<CurvePoint> curve;
  double training_seconds = 0.0;  ///< Without validation.
  ExchangeTotals totals;
};

/// Trains `model` for options.steps steps through `trainer`, which must belong to its parameters.
RunResult Train(const Options& options, const Text& text, Model& model, Trainer& trainer,
                Progress& progress);

}  // namespace byte_lm
