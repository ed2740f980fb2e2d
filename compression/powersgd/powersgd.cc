#include "compression/powersgd/powersgd.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "common/check.h"
#include "compression/codecs/cast.h"
#include "compression/cpu/in_ranges.h"
#include "compression/memory/error_feedback.h"
#include "compression/memory/finite.h"
#include "compression/memory/no_memory.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "compression/powersgd/orthonormal.h"

namespace weir {
namespace {

constexpr std::size_t kPartValues = std::size_t{1} << 16;  // Taken by a thread at a time.

std::unique_ptr<Compressor> MakePowerSgd(const ParsedOptions& options, const TensorSpec& tensor) {
  const std::size_t n = tensor.elements();
  const auto width = static_cast<std::size_t>(options.Integer("rank"));
  if (tensor.shape.rank() >= 2 && n > 0 && n >= MinElementsOf(options)) {
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t cols = n / rows;
    // (rows + cols) * width < n, where a large width cannot overflow.
    if (width <= (n - 1) / (rows + cols)) {
      return std::make_unique<PowerSgd>(
          cpu::LowRankShape{rows, cols, width},
          PowerSgdSettings{.feedback = options.Choice("ef") == "vanilla",
                           .warm_start = options.Flag("warm_start")},
          RandomOf(options, tensor));
    }
  }
  return std::make_unique<NoMemory>(std::make_unique<CastCodec>(DType::kFloat32), n);
}

const CompressorRegistration kPowerSgd(
    {.name = "powersgd",
     .summary = "Two thin factors of each matrix (first dimension by all others), averaged one "
                "after the other; vectors travel dense, and so does what the factors would not "
                "make smaller. Momentum stays with the optimizer.",
     .options =
         JoinSpecs({SizeSpecs(),
                    {{"rank", "4", IntegerRule{1}, "Columns of each factor."},
                     {"warm_start", "true", FlagRule{},
                      "Starts from the factor of the previous step, not from random numbers."},
                     {"ef", "vanilla", ChoiceRule{{"none", "vanilla"}},
                      "Error feedback: what was not sent is added to the next gradient."}},
                    SeedSpecs(),
                    BeginSpecs(),
                    StepSpecs()}),
     .make = MakePowerSgd,
     .codec = CodecId::kPowerSgd});

}  // namespace

PowerSgd::PowerSgd(const cpu::LowRankShape& shape, const PowerSgdSettings& settings,
                   CounterRandom random)
    : AroundCodec(std::make_unique<CastCodec>(DType::kFloat32), shape.matrix_size()),
      shape_(shape),
      settings_(settings),
      random_(random),
      matrix_(shape.matrix_size()),
      factor_(shape.right_size()),
      left_(shape.left_size()),
      right_(shape.right_size()) {
  WEIR_CHECK(shape.left_size() + shape.right_size() < shape.matrix_size());
}

void PowerSgd::Accumulate(const StepContext& context, std::span<const float> gradient) {
  WEIR_CHECK(gradient.size() == size());
  sent_ = Sent::kNothing;
  const float ratio = ErrorRatio(context);
  const std::span<float> matrix = matrix_.values();
  std::atomic<std::uint32_t> all_non_finite = 0;
  cpu::InRanges(size(), kPartValues, context.pool, [&](std::size_t begin, std::size_t end) {
    std::uint32_t non_finite = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const float scaled = FiniteOrZero(context.gradient_scale * gradient[i], non_finite);
      const float error = settings_.feedback ? ratio * matrix[i] : 0.0f;
      matrix[i] = FiniteOrZero(scaled + error, non_finite);
    }
    all_non_finite += non_finite;
  });
  CountNonFinite(all_non_finite);
}

void PowerSgd::BeginRight(std::int64_t step) {
  right_ = factor_;
  Orthonormalise(right_, shape_.cols, [&](std::size_t column, std::span<float> values) {
    const std::uint64_t blocks = (shape_.cols + 3) / 4;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const CounterRandom::Block block = random_.Draw(step, column * blocks + i / 4);
      // Uniform in [-1, 1).
      values[i] = static_cast<float>(static_cast<std::int32_t>(block[i % 4])) * 0x1p-31f;
    }
  });
}

void PowerSgd::EncodeFirst(const StepContext& context, std::span<const float> gradient,
                           std::span<float> first) {
  Accumulate(context, gradient);
  BeginRight(context.step);
  cpu::TimesRight(shape_, matrix_.values(), right_, first, context.pool);
}

void PowerSgd::EncodeSecond(const StepContext& context, std::span<const float> first,
                            std::span<float> second) {
  WEIR_CHECK(first.size() == left_.size() && second.size() == right_.size());
  std::ranges::copy(first, left_.begin());
  Orthonormalise(left_, shape_.rows);
  cpu::TimesLeft(shape_, matrix_.values(), left_, right_, context.pool);
  // A sum of finite entries may overflow; an error of inf would stay for ever.
  std::uint32_t non_finite = 0;
  for (float& value : right_) value = FiniteOrZero(value, non_finite);
  CountNonFinite(non_finite);
  std::ranges::copy(right_, second.begin());
}

void PowerSgd::Decode(const StepContext& context, std::span<const float> second,
                      std::span<float> result) {
  cpu::Outer(shape_, left_, second, cpu::Use::kStore, result, context.pool);
  if (settings_.feedback) {
    cpu::Outer(shape_, left_, right_, cpu::Use::kSubtract, matrix_.values(), context.pool);
  }
  if (settings_.warm_start) std::ranges::copy(second, factor_.begin());
  sent_ = Sent::kFactors;
}

std::size_t PowerSgd::Encode(const StepContext& context, std::span<const float> gradient,
                             std::span<std::byte> payload) {
  Accumulate(context, gradient);
  sent_ = Sent::kWhole;
  return codec().Encode(context, matrix_.values(), payload);
}

void PowerSgd::Finish(const StepContext&, std::span<float>) {
  if (sent_ != Sent::kWhole) return;
  std::ranges::fill(matrix_.values(), 0.0f);
  sent_ = Sent::kNothing;
}

void PowerSgd::Revert() {
  // Until its exchange is over, matrix_ is still whole.
  if (sent_ == Sent::kFactors && settings_.feedback) {
    cpu::Outer(shape_, left_, right_, cpu::Use::kAdd, matrix_.values());
  }
  sent_ = Sent::kNothing;
}

std::vector<Compressor::StateArray> PowerSgd::State() {
  std::vector<StateArray> state;
  if (settings_.feedback) state.push_back({"error", matrix_.values()});
  if (settings_.warm_start) state.push_back({"factor", factor_});
  return state;
}

}  // namespace weir
