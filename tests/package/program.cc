#include <cstdio>
#include <vector>

#include "weir/optimizer.h"

int main() {
  const auto engine = weir::Engine::Create();  // A rank of a weirrun job; otherwise a job of one.
  std::vector<float> weight(64 * 64), gradient(64 * 64);
  weir::DistributedOptimizer optimizer(
      *engine, {{.name = "weight", .value = weight, .gradient = gradient, .shape = {64, 64}}},
      {.momentum = 0.9f, .compression = {{"compressor", "dgc"}, {"density", "0.01"}}});
  for (int step = 0; step < 500; ++step) {
    optimizer.BeginStep(/*learning_rate=*/0.001f);
    for (std::size_t i = 0; i < weight.size(); ++i) gradient[i] = weight[i] - 1;  // Your backprop.
    optimizer.GradientReady(0);  // From here on its exchange runs beside the rest of the backprop.
    optimizer.Step();
  }
  std::printf("rank %d of %d: weight[0] = %.2f\n", engine->rank(), engine->size(), weight[0]);
}
