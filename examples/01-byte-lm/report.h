#pragma once

#include <string>

#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/options.h"
#include "examples/01-byte-lm/train.h"

namespace byte_lm {

/// Returns a paragraph for people.
std::string Summary(const Options& options, const Trainer& trainer, const RunResult& result);

/// Writes the settings and the result as one JSON object to the file options.json;
/// README.md lists its fields. A loss that is not finite is null. Throws
/// weir::InvalidArgument if the file cannot be written.
void WriteJson(const Options& options, const Model& model, const Trainer& trainer,
               const RunResult& result);

}  // namespace byte_lm
