#include "compression/memory/signum.h"

#include <utility>

#include "common/check.h"
#include "compression/codecs/onebit.h"
#include "compression/memory/step_math.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"

namespace weir {
namespace {

std::unique_ptr<Compressor> MakeSignum(const ParsedOptions& options, const TensorSpec& tensor) {
  return std::make_unique<Signum>(std::make_unique<OneBitCodec>(/*scaled=*/false),
                                  tensor.elements(),
                                  static_cast<float>(options.Real("momentum_mu")));
}

const CompressorRegistration kSignum(
    {.name = "signum",
     .summary = "The sign of each entry's momentum, by majority vote: the update is -1, 0 or 1.",
     .options = JoinSpecs(
         {{{"momentum_mu", "0.9", RealRule{0.0, 1.0, false, true},
            "Momentum coefficient; by default an SGD's, which then applies none itself."}},
          StepSpecs()}),
     .make = MakeSignum,
     .codec = CodecId::kSignum});

}  // namespace

Signum::Signum(std::unique_ptr<const Codec> signs, std::size_t n, float mu)
    : AroundCodec(std::move(signs), n), mu_(mu), momentum_(n) {}

void Signum::Advance(float mu, float scale, std::span<const float> gradient) {
  WEIR_CHECK(gradient.size() == size());
  std::uint32_t non_finite = 0;
  for (std::size_t i = 0; i < momentum_.size(); ++i) {
    const float scaled = FiniteOrZero(scale * gradient[i], non_finite);
    AdvanceSignum(mu, scaled, momentum_[i]);
  }
  CountNonFinite(non_finite);
}

std::size_t Signum::Encode(const StepContext& context, std::span<const float> gradient,
                           std::span<std::byte> payload) {
  Advance(context.MomentumOr(mu_), context.gradient_scale, gradient);
  return codec().Encode(context, momentum_, payload);
}

std::optional<GpuRule> Signum::gpu_rule() const {
  std::optional<GpuCodecRule> rule = codec().gpu_rule();
  if (!rule) return std::nullopt;
  rule->memory = GpuCodecRule::Memory::kSignum;
  rule->mu = mu_;
  return *rule;
}

void Signum::Finish(const StepContext& context, std::span<float> mean) {
  if (context.dense_phase) {
    Advance(context.MomentumOr(mu_), 1.0f, mean);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = SignOf(momentum_[i]);
    return;
  }
  for (float& value : mean) value = SignOf(value);
}

}  // namespace weir
