#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir {

struct OuterOptions {
  int every = 30;              ///< Steps between two rounds of a parameter; at least 1.
  float learning_rate = 0.7f;  ///< Of the outer SGD; above 0.
  float momentum = 0.5f;       ///< Of the outer SGD, Nesterov's. Rate 1 and momentum 0: local SGD.
  /// For what is exchanged, as OptimizerOptions::compression.
  std::map<std::string, std::string> compression = {{"compressor", "fp16"}};
  int fragments = 1;           ///< Parts of the model, whose rounds begin one after the other.
  int overlap = 0;             ///< Steps taken while a round is under way; below `every`.
  std::string name = "outer";  ///< Unique in a job.
};

/// Local steps: each rank trains by itself, with any optimizer of the program's own. After `every`
/// steps the ranks exchange how far each has gone from what they agreed on last, the anchor, and an
/// outer SGD moves that (DiLoCo: Douillard et al., 2023, algorithm 1; its streaming form: 2025).
///
///     weir::Outer outer(*engine, parameters, {.every = 30});
///     for (...) {
///       // forward and backward pass, and an update of the parameters on this rank
///       outer.AfterStep();
///     }
///     outer.Synchronize();
///
/// All calls belong to one thread. All ranks must make the same calls. Throws what
/// DistributedOptimizer throws.
class Outer {
 public:
  /// Collective. Copies rank 0's values to all ranks. `parameters` need no gradients, and their
  /// memory must outlive this object. Throws InvalidArgument for options without meaning, Mismatch
  /// where ranks differ.
  Outer(Engine& engine, std::vector<Parameter> parameters, OuterOptions options);
  ~Outer();
  Outer(const Outer&) = delete;
  Outer& operator=(const Outer&) = delete;

  /// Counts a step of this rank; begins and ends the rounds that are due. With `overlap` a round
  /// goes on beside the next steps, and parameters move in a later call by what it makes of them.
  void AfterStep();

  /// Ends with equal parameters on all ranks, by a round of what has not been exchanged.
  void Synchronize();

  std::int64_t steps() const;
  /// The engine's report of the last round that has ended; empty before the first.
  std::optional<StepReport> last_round() const;

  /// Saves this rank's parameters, anchors, momentum, compressor state and step, bit-exactly. Waits
  /// for a round that is under way.
  void Save(std::ostream& out);
  /// Restores what Save wrote: this rank's own state, or, after the number of ranks changed, those
  /// of all former ranks in rank order: parameters are then the anchor. Collective and blocking.
  /// Throws as DistributedOptimizer::Load; after an error nothing here may be used but the
  /// destructor.
  void Load(std::span<std::istream* const> former_ranks);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
