#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/half.h"
#include "weir/engine.h"

namespace weir::gradient_types_test {
namespace {

constexpr std::size_t kElements = 30;

/// A gradient of some floating type. What it holds here is exact in all of them.
struct Gradient {
  DType dtype;
  std::vector<std::byte> bytes = std::vector<std::byte>(kElements * SizeOf(dtype));

  TensorView view() { return {bytes.data(), dtype, Shape{6, 5}}; }

  template <typename T>
  void Put(std::size_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  T Get(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  void Set(std::size_t i, float value) {
    switch (dtype) {
      case DType::kFloat64:
        return Put(i, static_cast<double>(value));
      case DType::kFloat16:
        return Put(i, FloatToHalf(value));
      case DType::kBFloat16:
        return Put(i, FloatToBFloat16(value));
      default:
        return Put(i, value);
    }
  }
  double At(std::size_t i) const {
    switch (dtype) {
      case DType::kFloat64:
        return Get<double>(i);
      case DType::kFloat16:
        return HalfToFloat(Get<std::uint16_t>(i));
      case DType::kBFloat16:
        return BFloat16ToFloat(Get<std::uint16_t>(i));
      default:
        return Get<float>(i);
    }
  }
};

using Options = std::map<std::string, std::string>;

class GradientTypes : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  /// Two steps of a group with one tensor of every floating type.
  static void ExpectTheMean(const Options& compression) {
    const auto& [ranks, fused] = GetParam();
    Settings settings;
    if (!fused) settings.fusion_threshold_bytes = 0;
    RunLocal(
        ranks,
        [&](Engine& engine) {
          std::vector<Gradient> gradients;
          GradientGroupSpec spec{.name = "g", .compression = compression};
          for (const DType dtype :
               {DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
            gradients.push_back({dtype});
            spec.tensors.push_back(
                {.name = std::string(Name(dtype)), .shape = Shape{6, 5}, .dtype = dtype});
          }
          const auto group = engine.Register(std::move(spec));
          for (int step = 0; step < 2; ++step) {
            const auto value = [step](std::size_t i, int rank) {
              return static_cast<float>(static_cast<int>(i % 5) - 2 + rank + step);
            };
            group->BeginStep({});
            for (std::size_t t = 0; t < gradients.size(); ++t) {
              for (std::size_t i = 0; i < kElements; ++i) {
                gradients[t].Set(i, value(i, engine.rank()));
              }
              group->Submit(t, gradients[t].view(), gradients[t].view());
            }
            group->EndStep();
            group->WaitStep();
            for (const Gradient& gradient : gradients) {
              for (std::size_t i = 0; i < kElements; ++i) {
                ASSERT_EQ(gradient.At(i), value(i, 0) + (engine.size() - 1) / 2.0)
                    << Name(gradient.dtype) << " entry " << i << " step " << step;
              }
            }
          }
        },
        settings);
  }
};

TEST_P(GradientTypes, AreAveraged) { ExpectTheMean({}); }

TEST_P(GradientTypes, AreCompressed) {
  ExpectTheMean(
      {{"compressor", "dgc"}, {"density", "1"}, {"momentum", "none"}, {"min_elements", "0"}});
}

TEST_P(GradientTypes, AreCarriedAsHalves) { ExpectTheMean({{"compressor", "fp16"}}); }

INSTANTIATE_TEST_SUITE_P(RanksAndFusion, GradientTypes,
                         testing::Combine(testing::Values(1, 2, 4), testing::Bool()));

}  // namespace
}  // namespace weir::gradient_types_test
