#include "examples/01-byte-lm/train.h"

#include <chrono>
#include <numbers>
#include <string>

#include "examples/01-byte-lm/validation.h"

namespace byte_lm {
namespace {

double Seconds(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

}  // namespace

RunResult Train(const Options& options, const Text& text, Model& model, Trainer& trainer,
                Progress& progress) {
  const Sampler sampler(text.train(), model.shape().context, options.seed);
  Validation validation(text.validation(), model.shape());
  Batch batch(model.shape().context, options.batch);
  Activations activations(model.shape(), options.batch);
  const GradientHook submit = [&](int parameter) { trainer.SubmitGradient(parameter); };

  const weir::LearningRateSchedule rate{.peak = options.learning_rate,
                                        .decay = options.schedule,
                                        .steps = options.steps,
                                        .warmup_steps = options.learning_rate_warmup};

  RunResult result;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    sampler.Fill(step, trainer.rank(), batch);
    trainer.BeginStep(rate.At(step));
    model.Forward(batch, activations);
    model.Backward(batch, activations, submit);
    trainer.ApplyStep();
    result.training_seconds += Seconds(start);

    progress.Step(step, activations.loss.mean() / std::numbers::ln2, result.training_seconds,
                  trainer);
    const std::int64_t done = step + 1;
    if (options.eval_every > 0 && done % options.eval_every == 0) {
      const double bits = validation.Subset(model, trainer, options.eval_windows);
      result.curve.push_back({done, bits});
      progress.Note("validation after " + std::to_string(done) + " steps: " + std::to_string(bits) +
                    " bits per byte");
    }
  }
  result.bits_per_byte = validation.Whole(model, trainer);
  result.totals = trainer.totals();
  return result;
}

}  // namespace byte_lm
