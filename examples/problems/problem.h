#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace problems {

/// One fault in an otherwise sound training.
struct Problem {
  std::string name;
  std::string about;  ///< One sentence.
  std::map<std::string, std::string> compression = {
      {"compressor", "dgc"}, {"density", "0.01"}, {"warmup_steps", "60"}};
  std::size_t layers = 12;
  std::size_t rows = 256;
  /// Small enough for late entries: with density d an entry waits for about 1/d steps.
  float learning_rate = 0.0005f;
  /// Time of one layer's backward pass on a rank.
  std::function<std::chrono::microseconds(int rank)> backward = [](int) {
    return std::chrono::microseconds(2000);
  };
  /// Called after each step.
  std::function<void(weir::Engine& engine, std::int64_t step)> after_step = [](weir::Engine&,
                                                                               std::int64_t) {};
};

Problem None();
Problem SlowRank();
Problem SlowLink();
Problem CostlyCompression();
Problem FastWarmup();
Problem StalledTensor();

/// Returns all problems, the sound training first.
std::vector<Problem> AllProblems();

}  // namespace problems
