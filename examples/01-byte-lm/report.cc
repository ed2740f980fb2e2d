#include "examples/01-byte-lm/report.h"

#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "examples/01-byte-lm/progress.h"
#include "weir/error.h"

namespace byte_lm {
namespace {

nlohmann::json Settings(const Options& options) {
  return {{"text", options.text},
          {"steps", options.steps},
          {"batch", options.batch},
          {"lr", options.learning_rate},
          {"momentum", options.momentum},
          {"lr_warmup_steps", options.learning_rate_warmup},
          {"schedule", Name(options.schedule)},
          {"seed", options.seed},
          {"compressor", options.compressor},
          {"eval_every", options.eval_every},
          {"eval_windows", options.eval_windows}};
}

}  // namespace

std::string Summary(const Options& options, const Trainer& trainer, const RunResult& result) {
  const auto steps = static_cast<double>(options.steps);
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << options.compressor.at("compressor") << ", "
       << trainer.ranks() << (trainer.ranks() == 1 ? " rank, " : " ranks, ") << options.steps
       << " steps: " << result.bits_per_byte << " bits per byte on the validation text\n"
       << std::setprecision(1) << result.training_seconds << " s of training, "
       << steps / result.training_seconds << " steps/s";
  if (result.totals.sent_bytes > 0) {
    const auto sent = static_cast<double>(result.totals.sent_bytes);
    const auto dense = static_cast<double>(result.totals.dense_bytes);
    text << "; sent " << HumanBytes(sent / steps) << " per step and rank, dense "
         << HumanBytes(dense / steps) << ", ratio " << dense / sent;
  }
  return text.str();
}

void WriteJson(const Options& options, const Model& model, const Trainer& trainer,
               const RunResult& result) {
  nlohmann::json curve = nlohmann::json::array();
  for (const CurvePoint& point : result.curve) curve.push_back({point.step, point.bits_per_byte});
  const nlohmann::json report = {{"settings", Settings(options)},
                                 {"ranks", trainer.ranks()},
                                 {"parameters", model.parameter_count()},
                                 {"bits_per_byte", result.bits_per_byte},
                                 {"curve", curve},
                                 {"training_seconds", result.training_seconds},
                                 {"sent_bytes", result.totals.sent_bytes},
                                 {"dense_bytes", result.totals.dense_bytes},
                                 {"density", result.totals.density}};
  std::ofstream file(options.json);
  file << report.dump(2) << '\n';
  if (!file.flush()) {
    throw weir::InvalidArgument("cannot write the result to \"" + options.json +
                                "\": give --json a path that can be written");
  }
}

}  // namespace byte_lm
