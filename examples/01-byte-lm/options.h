#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "weir/learning_rate.h"

namespace byte_lm {

/// User options; `byte-lm --help` describes them. The model's shape is not one of
/// them, so that runs are comparable.
struct Options {
  std::string text = "examples/data/tinyshakespeare.txt";
  std::int64_t steps = 3000;
  int batch = 32;  ///< Windows per rank and step.
  float learning_rate = 0.3f;
  float momentum = 0.9f;
  std::int64_t learning_rate_warmup = 0;  ///< Steps.
  weir::LearningRateSchedule::Decay schedule = weir::LearningRateSchedule::Decay::kCosine;
  std::uint64_t seed = 1;
  /// Options for the engine, e.g. {"compressor": "dgc", "density": "0.001"}. Missing
  /// ones are the engine's defaults.
  std::map<std::string, std::string> compressor;
  std::int64_t eval_every = 0;      ///< Steps between validations; 0: only at the end.
  std::size_t eval_windows = 8192;  ///< Windows in the intermediate validations.
  std::string json;                 ///< File for the result; empty: none.
  bool quiet = false;
};

/// Parses the command line. Empty after --help, which has then been printed. Throws
/// weir::InvalidArgument with a message that names the option, the value and what is allowed.
std::optional<Options> ParseOptions(int argc, const char* const* argv);

}  // namespace byte_lm
