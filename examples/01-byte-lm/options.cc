#include "examples/01-byte-lm/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "weir/error.h"
#include "weir/settings.h"

namespace byte_lm {
namespace {

// The engine checks keys and values: it knows the nearest valid one.
std::map<std::string, std::string> ParseCompressor(const std::string& text) {
  std::map<std::string, std::string> options;
  try {
    options = weir::CompressionFromText(text);
  } catch (const weir::InvalidArgument& error) {
    throw weir::InvalidArgument(std::string("--compressor: ") + error.what());
  }
  if (!options.contains("compressor")) {
    throw weir::InvalidArgument("--compressor: the list \"" + text +
                                "\" names none; add compressor=NAME, as in " +
                                "compressor=topk,k=0.01,ef=vanilla");
  }
  return options;
}

// Checks before training, not after.
void CheckWritable(const std::string& file) {
  if (file.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw weir::InvalidArgument("--json " + file + ": there is no folder " + folder.string() +
                                "; make it, or give another file");
  }
  if (!std::ofstream(file, std::ios::app)) {
    throw weir::InvalidArgument("--json " + file +
                                " cannot be written; give a file that can be written");
  }
}

// CLI11's own message names the largest double with all its digits.
CLI::Validator Number(const std::string& allowed, bool (*is_allowed)(double)) {
  const auto check = [=](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && is_allowed(value)) return {};
    return text + " is not allowed; give a number " + allowed;
  };
  return {check, allowed};
}

void Describe(CLI::App& app, Options& options) {
  const CLI::Validator positive = Number("above 0", [](double x) { return x > 0; });
  const CLI::Validator not_negative = Number("of at least 0", [](double x) { return x >= 0; });
  using Decay = weir::LearningRateSchedule::Decay;
  const std::map<std::string, Decay> schedules = {{"constant", Decay::kConstant},
                                                  {"cosine", Decay::kCosine}};
  app.add_option("--text", options.text, "Text to learn; the last 10 % is for validation");
  app.add_option("--steps", options.steps, "Optimizer steps")->check(positive);
  app.add_option("--batch", options.batch, "Windows per rank and step")->check(positive);
  app.add_option("--lr", options.learning_rate, "Peak learning rate")->check(positive);
  app.add_option("--momentum", options.momentum, "Momentum")->check(CLI::Range(0.0, 0.999));
  app.add_option("--schedule", options.schedule, "How the learning rate goes")
      ->transform(CLI::CheckedTransformer(schedules));
  app.add_option("--lr-warmup-steps", options.learning_rate_warmup,
                 "Steps of linear rise of the learning rate")
      ->check(not_negative);
  app.add_option("--seed", options.seed, "Seed of parameters and data order");
  app.add_option("--eval-every", options.eval_every,
                 "Steps between validations, 0: at the end only")
      ->check(not_negative);
  app.add_option("--eval-windows", options.eval_windows,
                 "Windows in a validation on the way; the one at the end takes all")
      ->check(positive);
  app.add_option("--json", options.json, "Write the result to this file (rank 0)");
  app.add_flag("--quiet", options.quiet, "Print nothing but errors");
}

}  // namespace

std::optional<Options> ParseOptions(int argc, const char* const* argv) {
  CLI::App app("Trains a byte-level language model on a text, its gradients exchanged by Weir",
               "byte-lm");
  app.option_defaults()->always_capture_default();
  Options options;
  std::string compressor;
  std::string density;
  std::string warmup_steps;
  Describe(app, options);
  app.add_option("--compressor", compressor,
                 "A compressor's name, or its list key=value,...; without it WEIR_COMPRESSION, or "
                 "dense");
  app.add_option("--density", density, "Short for density=... in the list")->capture_default_str();
  app.add_option("--warmup-steps", warmup_steps, "Short for warmup_steps=... in the list");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw weir::InvalidArgument(std::string(error.what()) + " (byte-lm --help lists the options)");
  }
  if (!compressor.empty()) options.compressor = ParseCompressor(compressor);
  if (!density.empty()) options.compressor["density"] = density;
  if (!warmup_steps.empty()) options.compressor["warmup_steps"] = warmup_steps;
  if (!std::isfinite(options.learning_rate)) {
    throw weir::InvalidArgument("--lr " + std::to_string(options.learning_rate) +
                                " is not a finite number");
  }
  if (options.learning_rate_warmup >= options.steps) {
    throw weir::InvalidArgument("--lr-warmup-steps " +
                                std::to_string(options.learning_rate_warmup) +
                                " leaves nothing of --steps " + std::to_string(options.steps) +
                                ": give fewer than --steps");
  }
  CheckWritable(options.json);
  return options;
}

}  // namespace byte_lm
