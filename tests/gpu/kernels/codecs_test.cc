// Kernels of codecs, and of the memories around them: the bits of the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/byte_stream.h"
#include "compression/codecs/level_tile.h"
#include "tests/gpu/kernels/codec_twins.h"
#include "tests/gpu/kernels/steps.h"

namespace weir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

struct Case {
  const char* name;
  CompressionOptions options;
  DType dtype = DType::kFloat32;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

/// Learning rates and densities that change.
StepContext ContextOf(int step) {
  StepContext context{.step = step};
  context.learning_rate = step % 5 == 4 ? 0.0f : 0.1f / static_cast<float>(1 + step % 3);
  context.previous_learning_rate = step % 5 == 0 ? 0.0f : 0.1f / static_cast<float>(3 - step % 3);
  context.gradient_scale = 1.0f / static_cast<float>(1 + step % 4);
  constexpr double kDensities[] = {0.01, 0.3, 1.0, 0.001};
  context.density = kDensities[step / 3 % 4];
  context.rank = 1;
  return context;
}

class GpuCodecSteps : public OnGpu<testing::TestWithParam<Case>> {
 protected:
  CodecTwins Make(std::vector<std::size_t> elements) {
    return {api(), kernels(), GetParam().options, std::move(elements), GetParam().dtype};
  }
};

TEST_P(GpuCodecSteps, ManyHaveTheBitsOfTheCpu) {
  CodecTwins twins = Make({1, 31, 773});
  Gradients gradients(61);
  for (int step = 0; step < kComparedSteps; ++step) {
    SCOPED_TRACE(step);
    twins.Encode(twins.Random(gradients), ContextOf(step));
    if (HasFatalFailure()) return;
    twins.Merge(gradients, ContextOf(step));
    if (HasFatalFailure()) return;
    if (step % 7 == 3) twins.Finish(twins.Random(gradients));
    if (step % 11 == 5) twins.Undo();
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuCodecSteps, OfAwkwardSizesAndPlacesHaveTheBitsOfTheCpu) {
  CodecTwins twins = Make({65535, 65536, 65537, 2 * 65536 + 33, 4096, 255});
  Gradients gradients(62);
  for (const std::size_t shift : {0, 1, 2}) {
    twins.Encode(twins.Random(gradients), ContextOf(static_cast<int>(shift)), shift);
    if (HasFatalFailure()) return;
    twins.Merge(gradients, ContextOf(static_cast<int>(shift)));
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuCodecSteps, OfUnusualValuesHaveTheBitsOfTheCpu) {
  CodecTwins twins = Make({300, 300, 300, 300, 5});
  std::vector<float> broken(300, 0.5f);
  broken[7] = std::numeric_limits<float>::quiet_NaN();
  broken[299] = -kInfinity;
  std::vector<float> large(300, kLargest);
  for (std::size_t i = 0; i < large.size(); i += 3) large[i] = -kLargest;
  std::vector<float> least(300, kLeast);
  for (std::size_t i = 0; i < least.size(); ++i) least[i] *= static_cast<float>(i);
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    twins.Encode({broken, std::vector<float>(300, -0.0f), large, least, {1, -2, 0, -0.0f, 3}},
                 {.step = step, .density = step % 2 == 0 ? 1.0 : 0.5});
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(twins.cpu(0).non_finite_entries(), 8u);
  Gradients gradients(63);
  twins.Merge(gradients, {.step = 3, .density = 0.5});
  if (HasFatalFailure()) return;
  // All that a scale or a ratio of errors of inf makes of the entries, and of nothing beside them.
  const std::vector<float> ones(300, 1.0f);
  twins.Encode({ones, ones, ones, ones, {1, 1, 1, 1, 1}}, {.step = 4,
                                                           .density = 0.5,
                                                           .learning_rate = kLeast,
                                                           .previous_learning_rate = 1.0f,
                                                           .gradient_scale = kInfinity});
}

TEST_P(GpuCodecSteps, AreTakenBackOnceAndNotAfterALoad) {
  CodecTwins twins = Make({700});
  Gradients gradients(64);
  twins.Undo();  // Has no effect.
  for (int step = 0; step < 3; ++step) {
    twins.Encode(twins.Random(gradients), ContextOf(step));
    if (step == 1) twins.MergeNothing();
    twins.Undo();
    twins.Undo();
    if (HasFatalFailure()) return;
  }
  twins.Encode(twins.Random(gradients), ContextOf(3));
  twins.Forget();
  twins.Undo();
}

/// An error that vanishes leaves a -0, which is sent and taken back.
TEST_P(GpuCodecSteps, OfNegativeZerosAreTakenBackAsOnTheCpu) {
  CodecTwins twins = Make({20});
  std::vector<float> least(20, -kLeast);
  least[0] = 1.0f;
  twins.Encode({least}, {.density = 0.05});
  if (HasFatalFailure()) return;
  twins.Encode({std::vector<float>(20, -0.0f)},
               {.step = 1, .learning_rate = 0.4f, .previous_learning_rate = 0.1f});
  if (HasFatalFailure()) return;
  twins.Undo();
}

const CompressionOptions kFeedback = {{"ef", "vanilla"}};
const CompressionOptions kNesterov = {{"momentum", "nesterov"}, {"momentum_mu", "0.9"}};

CompressionOptions With(CompressionOptions options, const CompressionOptions& more) {
  options.insert(more.begin(), more.end());
  return options;
}

const CompressionOptions kOneBit = {{"compressor", "onebit"}, {"scaling", "true"}};
const CompressionOptions kInt8 = {{"compressor", "int8"}};
const CompressionOptions kDithering = {{"compressor", "dithering"}, {"coding", "packed"}};
const CompressionOptions kNatural = {{"compressor", "dithering"},
                                     {"coding", "packed"},
                                     {"k", "15"},
                                     {"partition", "natural"},
                                     {"normalize", "l2"}};
// In the shorter form: gaps, whose tiles have one part or many, and packed tiles among them.
const CompressionOptions kShorter = {{"compressor", "dithering"}};
const CompressionOptions kBare = {{"compressor", "dithering"}, {"normalize", "l2"}};
const CompressionOptions kTernGrad = {{"compressor", "terngrad"}};
const CompressionOptions kRandomK = {{"compressor", "randomk"}, {"seed", "3"}};
const CompressionOptions kTopK = {{"compressor", "topk"}};
const CompressionOptions kHalf = {{"compressor", "fp16"}};

using GpuCodecs = OnGpu<testing::Test>;

/// More tiles than the tree of squares has subtrees.
TEST_F(GpuCodecs, NormOfALargeTensorHasTheBitsOfTheCpu) {
  for (const std::size_t n : {64 * 4096 + 1, 3 * 64 * 4096 - 5}) {
    CodecTwins twins(api(), kernels(), kNatural, {n});
    Gradients gradients(65);
    twins.Encode(twins.Random(gradients), ContextOf(0));
    if (HasFatalFailure()) return;
  }
}

/// The shorter form is written and read by each of its ways: gaps of every number of parts, and
/// packed.
TEST_F(GpuCodecs, LevelsOfEveryDensityHaveTheBitsOfTheCpu) {
  constexpr std::array<unsigned, 7> kPerMille = {1, 40, 75, 170, 340, 700, 1000};
  std::vector<float> values(kPerMille.size() * kLevelTile - 100);
  std::mt19937 random(1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (random() % 1000 >= kPerMille[i / kLevelTile]) continue;
    values[i] = random() % 2 == 0 ? 1.0f : -1.0f / 127.0f;
  }
  CodecTwins twins(api(), kernels(), With(kShorter, {{"k", "127"}}), {values.size()});
  twins.Encode({values}, ContextOf(0));
  if (HasFatalFailure()) return;
  std::vector<unsigned> parts;
  for (std::size_t t = 0; t < kPerMille.size(); ++t) {
    const std::byte* const entry =
        twins.sent(0).data() + sizeof(float) + 1 + t * LevelTileEntry::kBytes;
    parts.push_back(LevelTileEntry::Of(LoadLittleEndian<std::uint16_t>(entry)).parts_log2);
  }
  EXPECT_THAT(parts, testing::ElementsAre(0, 1, 2, 3, 4, 5, LevelTileEntry::kPacked));
  Gradients gradients(66);
  twins.Merge(gradients, ContextOf(0));
}

/// More tiles than a block looks for at a time.
TEST_F(GpuCodecs, ShorterLevelsOfALargeTensorHaveTheBitsOfTheCpu) {
  CodecTwins twins(api(), kernels(), kBare, {4096 * kLevelTile + 5000});
  Gradients gradients(67);
  twins.Encode(twins.Random(gradients), ContextOf(0));
  if (HasFatalFailure()) return;
  twins.Merge(gradients, ContextOf(0));
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, GpuCodecSteps,
    testing::Values(
        Case{"fp16", kHalf}, Case{"bf16", {{"compressor", "bf16"}}},
        Case{"fp32", {{"compressor", "dense"}}}, Case{"fp16_ef", With(kHalf, kFeedback)},
        Case{"bf16_nesterov", With({{"compressor", "bf16"}}, kNesterov)}, Case{"int8", kInt8},
        Case{"int8_ef", With(kInt8, kFeedback)},
        Case{"int8_both", With(With(kInt8, kFeedback), kNesterov)},
        Case{"int8_fp16_gradients", With(kInt8, kFeedback), DType::kFloat16},
        Case{"onebit", {{"compressor", "onebit"}}}, Case{"onebit_scaled", kOneBit},
        Case{"onebit_ef", With(kOneBit, kFeedback)},
        Case{"onebit_nesterov", With(kOneBit, kNesterov)},
        Case{"onebit_both", With(With(kOneBit, kFeedback), kNesterov)},
        Case{"onebit_bf16_gradients", With(kOneBit, kFeedback), DType::kBFloat16},
        Case{"topk", kTopK}, Case{"topk_ef", With(kTopK, kFeedback)},
        Case{"topk_nesterov", With(kTopK, kNesterov)},
        Case{"topk_both", With(With(kTopK, kFeedback), kNesterov)},
        Case{"topk_fp32_of_five", With(With(kTopK, kFeedback), {{"values", "fp32"}, {"k", "5"}})},
        Case{"topk_bf16_gradients", With(kTopK, kFeedback), DType::kBFloat16},
        Case{"dithering", kDithering}, Case{"dithering_ef", With(kDithering, kFeedback)},
        Case{"dithering_nesterov", With(kDithering, kNesterov)}, Case{"natural_norm", kNatural},
        Case{"natural_norm_ef", With(kNatural, kFeedback)},
        Case{"dithering_127", With(kDithering, {{"k", "127"}})},
        Case{"dithering_of_one", With(kDithering, {{"k", "1"}, {"normalize", "l2"}})},
        Case{"shorter", kShorter}, Case{"shorter_ef", With(kShorter, kFeedback)},
        Case{"shorter_127", With(kShorter, {{"k", "127"}})},
        Case{"shorter_natural", With(With(kShorter, kFeedback), {{"partition", "natural"}})},
        Case{"bare", kBare}, Case{"bare_ef", With(kBare, kFeedback)},
        Case{"bare_of_one", With(kBare, {{"k", "1"}})},
        Case{"bare_127_both", With(With(With(kBare, kFeedback), kNesterov), {{"k", "127"}})},
        Case{"terngrad", kTernGrad}, Case{"terngrad_ef", With(kTernGrad, kFeedback)},
        Case{"quant3", {{"compressor", "quant3"}}},
        Case{"quant3_both", With(With({{"compressor", "quant3"}}, kFeedback), kNesterov)},
        Case{"dithering_fp16_gradients", With(kDithering, kFeedback), DType::kFloat16},
        Case{"randomk", kRandomK}, Case{"randomk_ef", With(kRandomK, kFeedback)},
        Case{"randomk_nesterov", With(kRandomK, kNesterov)},
        Case{"randomk_both", With(With(kRandomK, kFeedback), kNesterov)},
        Case{"randomk_unbiased", With(kRandomK, {{"unbiased", "true"}})},
        Case{"randomk_fp32_of_forty",
             With(With(kRandomK, kFeedback), {{"values", "fp32"}, {"k", "40"}})},
        Case{"randomk_fp16_gradients", With(kRandomK, kFeedback), DType::kFloat16},
        Case{"signum", {{"compressor", "signum"}}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weir
