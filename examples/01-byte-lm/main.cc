// Trains a byte-level language model on a text. README.md beside this file explains how to
// run it and what its output means.

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "examples/01-byte-lm/data.h"
#include "examples/01-byte-lm/engine_trainer.h"
#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/options.h"
#include "examples/01-byte-lm/progress.h"
#include "examples/01-byte-lm/report.h"
#include "examples/01-byte-lm/train.h"
#include "weir/engine.h"

namespace byte_lm {
namespace {

void Run(Options options) {
  const Text text = Text::Load(options.text);
  Model model(ModelShape{}, options.seed);
  weir::Settings settings = weir::Settings::FromEnvironment();
  settings.batch_size = options.batch;  // For samples per second.
  const std::unique_ptr<weir::Engine> engine = weir::Engine::Create(settings);
  if (!options.compressor.contains("compressor")) {
    options.compressor.merge(std::map(engine->settings().compression));
    options.compressor.try_emplace("compressor", "dense");
  }
  EngineTrainer trainer(*engine, model.parameters(), options.momentum, options.compressor);
  const bool speaks = trainer.rank() == 0 && !options.quiet;
  Progress progress(speaks ? &std::cout : nullptr, isatty(STDOUT_FILENO) != 0, options.steps);
  const RunResult result = Train(options, text, model, trainer, progress);
  progress.Note(Summary(options, trainer, result));
  if (trainer.rank() == 0 && !options.json.empty()) WriteJson(options, model, trainer, result);
}

}  // namespace
}  // namespace byte_lm

int main(int argc, char** argv) {
  try {
    if (auto options = byte_lm::ParseOptions(argc, argv)) byte_lm::Run(*std::move(options));
  } catch (const std::exception& error) {
    std::cerr << "byte-lm: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
