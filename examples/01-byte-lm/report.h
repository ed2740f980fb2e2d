#pragma once

#include <string>

#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/options.h"
#include "examples/01-byte-lm/train.h"

namespace byte_lm {

/// A paragraph for a person.
std::string Summary(const Options& options, const Trainer& trainer, const RunResult& result);

/// The settings and the result as one JSON object, in the file options.json; README.md lists its
/// fields. A loss that is not finite is null. Throws weir::InvalidArgument if the file cannot be
/// written.
void WriteJson(const Options& options, const Model& model, const Trainer& trainer,
               const RunResult& result);

}  // namespace byte_lm
