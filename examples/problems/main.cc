// A training in which one thing is wrong, to show its symptoms: see README.md beside this file.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "examples/problems/layers.h"
#include "examples/problems/problem.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace problems {
namespace {

void Run(const Problem& problem, std::int64_t steps) {
  const std::unique_ptr<weir::Engine> engine = weir::Engine::Create();
  Layers layers(problem.layers, problem.rows, engine->rank());
  weir::DistributedOptimizer optimizer(
      *engine, layers.Parameters(),
      {.momentum = 0.9f, .compression = problem.compression, .name = "model"});
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer.BeginStep(problem.learning_rate);
    layers.Backward(
        [&](std::size_t) { std::this_thread::sleep_for(problem.backward(engine->rank())); },
        [&](std::size_t layer) { optimizer.GradientReady(layer); });
    optimizer.Step();
    problem.after_step(*engine, step);
  }
  if (engine->rank() == 0) {
    std::cout << problem.name << ": " << steps << " steps, loss " << layers.Loss() << '\n';
  }
}

}  // namespace
}  // namespace problems

int main(int argc, char** argv) {
  const std::vector<problems::Problem> all = problems::AllProblems();
  std::vector<std::string> names;
  std::string help = "what goes wrong:";
  for (const problems::Problem& problem : all) {
    names.push_back(problem.name);
    help += "\n" + problem.name + ": " + problem.about;
  }
  CLI::App app("A training in which one thing is wrong");
  std::string name;
  std::int64_t steps = 1000;
  app.add_option("problem", name, help)->required()->check(CLI::IsMember(names));
  app.add_option("--steps", steps, "how long it trains")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    problems::Run(*std::ranges::find(all, name, &problems::Problem::name), steps);
  } catch (const std::exception& error) {
    std::cerr << "problems: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
