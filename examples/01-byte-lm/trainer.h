#pragma once

#include <cstdint>

namespace byte_lm {

/// Totals of a rank's exchanges so far.
struct ExchangeTotals {
  std::uint64_t sent_bytes = 0;   ///< Contributed by this rank, headers included.
  std::uint64_t dense_bytes = 0;  ///< The same uncompressed, in fp32.
  double density = 1.0;           ///< Fraction of the entries sent in the last step.
};

/// The training loop's interface to an optimizer. One step is BeginStep, SubmitGradient once for
/// each parameter in the order in which backprop completes them, ApplyStep.
///
/// Not thread-safe: one thread trains.
class Trainer {
 public:
  virtual ~Trainer() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  virtual void BeginStep(float learning_rate) = 0;
  /// Marks this parameter's gradient as complete; its exchange may start. The gradient must not
  /// change until ApplyStep returns.
  virtual void SubmitGradient(int parameter) = 0;
  /// Waits for all exchanges and updates the parameters, the same on every rank.
  virtual void ApplyStep() = 0;

  /// Returns the sum over the ranks; every rank calls it at the same point between steps.
  virtual double SumOverRanks(double value) = 0;
  virtual ExchangeTotals totals() const = 0;
};

}  // namespace byte_lm
