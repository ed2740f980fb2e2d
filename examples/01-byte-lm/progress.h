#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "examples/01-byte-lm/trainer.h"

namespace byte_lm {

/// Writes "1.2 MB", "512 B": powers of 1000.
std::string HumanBytes(double bytes);

/// Prints one line about a training run about every second: step, loss, density, bytes sent
/// compared with dense, steps per second. On a terminal the line is redrawn in place; elsewhere (a
/// pipe, a log, under a launcher) each one is a line of its own.
class Progress {
 public:
  /// Writes to `out`, which must outlive this object; nullptr prints nothing.
  Progress(std::ostream* out, bool terminal, std::int64_t steps);

  /// Called after every step with its mean training loss in bits per byte and the seconds spent in
  /// training so far. Both are averaged over the steps since the last line.
  void Step(std::int64_t step, double loss, double training_seconds, const Trainer& trainer);
  /// Prints a line of its own that stays.
  void Note(const std::string& line);

 private:
  static constexpr double kSecondsBetweenLines = 1.0;

  std::ostream* out_;
  bool terminal_;
  std::int64_t steps_;
  double loss_sum_ = 0.0;
  std::int64_t steps_since_line_ = 0;
  double last_line_seconds_ = 0.0;
};

}  // namespace byte_lm
