#include "benchmarks/byte_lm_rank.h"

#include <utility>

namespace weir::bench {

ByteLmRank::ByteLmRank(const Settings& settings, EngineEnvironment environment, int batch,
                       const byte_lm::Text& text)
    : engine_(settings, std::move(environment)),
      model_(byte_lm::ModelShape{}, 1),
      trainer_(engine_, model_.parameters(), 0.9f, {{"compressor", "dgc"}, {"density", "0.001"}}),
      sampler_(text.train(), model_.shape().context, 1),
      batch_(model_.shape().context, batch),
      activations_(model_.shape(), batch) {}

void ByteLmRank::Train() {
  Forward();
  Backward([this](int parameter) { trainer_.SubmitGradient(parameter); });
  trainer_.ApplyStep();
}

void ByteLmRank::Forward() {
  sampler_.Fill(step_++, engine_.rank(), batch_);
  trainer_.BeginStep(kLearningRate);
  model_.Forward(batch_, activations_);
}

void ByteLmRank::Backward(const std::function<void(int parameter)>& submit) {
  model_.Backward(batch_, activations_, submit);
}

}  // namespace weir::bench
