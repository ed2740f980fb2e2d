// Compression as a user writes it, from the text to a compressor that works.
#include <cmath>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "compression/options/tensor_options.h"
#include "tests/compression/test_compressor.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir::fuzz {
namespace {

constexpr std::int64_t kStep = 20;

/// One step of a small tensor; whatever the options, what is sent can be read.
void CheckCompressor(Compressor& compressor, const Schedule& schedule, std::size_t n) {
  const double density = schedule.Density(kStep);
  WEIR_CHECK(0.0 < density && density <= 1.0);
  if (schedule.DensePhase(kStep)) return;
  std::vector<float> gradient(n);
  for (std::size_t i = 0; i < n; ++i) gradient[i] = static_cast<float>(i % 7) - 3.0f;
  const StepContext context{.step = kStep, .density = density, .learning_rate = 0.1f};
  const auto payload = test::Send(compressor, context, gradient);
  compressor.Check(payload);
  for (const float value : test::Received(compressor, payload, n)) WEIR_CHECK(std::isfinite(value));
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  const std::string text = Input(bytes).Text();
  CompressionOptions options;
  if (!Accepts<InvalidArgument>([&] { options = CompressionFromText(text); })) return;
  for (const auto& [key, value] : options) WEIR_CHECK(!key.empty());
  const bool known =
      Accepts<InvalidArgument>([&] { options = TensorOptions(options).For("layers.1.weight"); });
  if (!known) return;
  for (const Shape& shape : {Shape{6, 50}, Shape{3}, Shape{0}}) {
    std::unique_ptr<Compressor> compressor;
    Schedule schedule;
    const TensorSpec tensor{"w", shape};
    const bool accepted = Accepts<InvalidArgument>([&] {
      const ParsedOptions parsed = ParseOptions(options);
      schedule = ScheduleOf(parsed);
      StepSettingsOf(parsed);
      WeightDecayOf(parsed);
      compressor = MakeCompressor(parsed, tensor);
    });
    if (accepted) CheckCompressor(*compressor, schedule, tensor.elements());
  }
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds = {
      Seed({}, "compressor=topk,k=0.01,ef=vanilla,momentum=nesterov,momentum_mu=0.9"),
      Seed({}, "compressor=dgc,sparsity=[0.75,0.999],warmup_steps=100,min_elements=0"),
      Seed({}, "compressor=topk,k[*.weight]=3,compressor[*.bias]=dense,min_elements=0"),
      Seed({}, "compressor=randomk,byteps_seed=7,k=3,min_elements=0")};
  for (const CompressorInfo& info : ListCompressors()) {
    seeds.push_back(Seed({}, info.name));
    std::string all = "compressor=" + info.name;
    for (const OptionSpec& option : info.options) {
      if (option.default_text.empty()) continue;
      const std::string one = "," + option.key + "=" + option.default_text;
      seeds.push_back(Seed({}, "compressor=" + info.name + one));
      all += one;
    }
    seeds.push_back(Seed({}, all));
  }
  return seeds;
}

}  // namespace weir::fuzz
