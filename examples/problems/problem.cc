#include "examples/problems/problem.h"

#include <span>

#include "weir/tensor.h"

namespace problems {

using std::chrono::microseconds;

Problem None() { return {.name = "none", .about = "The sound training, to compare with."}; }

Problem SlowRank() {
  return {.name = "slow-rank",
          .about = "The backward pass of rank 2 takes twice as long as that of the others.",
          .backward = [](int rank) { return microseconds(rank == 2 ? 4000 : 2000); }};
}

Problem SlowLink() {
  return {.name = "slow-link",
          .about = "The sound training; the network that it is started on is what is slow.",
          .compression = {{"compressor", "dense"}}};
}

Problem CostlyCompression() {
  // Random rounding in Elias' code saves memory traffic within a host, but takes far longer.
  return {.name = "costly-compression",
          .about = "A compressor that takes longer than what it saves, on a fast network.",
          .compression = {{"compressor", "dithering"}, {"policy", "always"}}};
}

Problem FastWarmup() {
  return {.name = "fast-warmup",
          .about = "One entry of a thousand is sent from the first step on, at a high rate.",
          .compression = {{"compressor", "dgc"}, {"density", "0.001"}},
          .learning_rate = 0.1f};
}

Problem StalledTensor() {
  constexpr std::int64_t kForgetsFrom = 200;
  return {.name = "stalled-tensor",
          .about = "From step 200 on rank 1 leaves out an all-reduce that the others make.",
          .after_step = [](weir::Engine& engine, std::int64_t step) {
            if (engine.rank() == 1 && step >= kForgetsFrom) return;
            double loss = 1.0;
            const auto view = weir::ViewOf(std::span<double>(&loss, 1));
            engine.Wait(engine.Allreduce("metrics/loss", view, view));
          }};
}

std::vector<Problem> AllProblems() {
  return {None(), SlowRank(), SlowLink(), CostlyCompression(), FastWarmup(), StalledTensor()};
}

}  // namespace problems
