#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "weir/engine.h"

namespace weir {

/// A training whose tensors may be anywhere; all else depends on its numbers alone.
struct GpuTraining {
  struct Tensor {
    std::string name;
    Shape shape;
    DType dtype = DType::kFloat32;
  };
  std::vector<Tensor> tensors;
  CompressionOptions compression{};
  int ranks = 2;
  int ranks_per_host = 1;
  int steps = 12;
  float loss_scale = 1.0f;
  std::size_t fusion_threshold_bytes = Settings().fusion_threshold_bytes;
  /// The program's stream waits for results; the program itself waits when it has read them.
  bool waits_in_stream = false;
  /// Selects tensors that are not submitted, and have a default update instead.
  std::function<bool(int rank, int step, std::size_t tensor)> unused = {};
  /// Selects steps before which another one is begun, with other gradients, and dropped.
  std::function<bool(int step)> dropped = {};
  /// Changes a gradient, to make entries that are not finite.
  std::function<void(int rank, int step, std::size_t tensor, std::span<float> gradient)> spoil = {};
};

/// The device of each tensor of each rank.
using Placement = std::function<Device(int rank, std::size_t tensor)>;
inline Device OnCpu(int, std::size_t) { return {}; }
inline Device OnGpu0(int, std::size_t) { return {0}; }

/// Results on one rank.
struct Trained {
  std::vector<std::vector<std::byte>> updates;  ///< By step, then tensor.
  std::vector<StepReport> reports;
  std::string state;             ///< Saved at the end.
  std::uint64_t sent_bytes = 0;  ///< Over the host's network.
};

/// Trains on the GPUs of the tested library, and returns every rank's results. `states`, if given:
/// each rank continues from its own.
std::vector<Trained> Train(const GpuTraining& training, const Placement& placement,
                           const std::vector<std::string>& states = {});

/// Expects equal updates and reports on every rank, except for the bytes on the
/// network, and equal states at the end.
void ExpectSameTraining(const std::vector<Trained>& found, const std::vector<Trained>& expected);

}  // namespace weir
