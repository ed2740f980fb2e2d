// Gradients that are exchanged uncompressed in one bucket: large
// ones in place, small ones fused.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "common/half.h"
#include "weir/engine.h"

namespace weir::dense_buckets_test {
namespace {

constexpr std::int64_t kLarge = 70'000;  // 280 kB as fp32
constexpr int kSteps = 6;

struct Tensor {
  std::int64_t elements;
  DType dtype = DType::kFloat32;
};
/// Less than a MiB together, so that they share a bucket (LayOutBuckets).
constexpr Tensor kTensors[] = {{1000}, {kLarge}, {1}, {kLarge, DType::kFloat16}, {kLarge}, {77}};

/// Small whole numbers, so that sums are exact in every type.
float Value(std::size_t tensor, std::size_t i, int rank, int step) {
  return static_cast<float>((tensor + 3 * i) % 13) + static_cast<float>(4 * rank - step);
}

/// One gradient on one rank.
struct Gradient {
  explicit Gradient(Tensor tensor) : dtype(tensor.dtype), shape{tensor.elements} {
    in.resize(size() * SizeOf(dtype));
    out.resize(in.size());
  }
  std::size_t size() const { return static_cast<std::size_t>(shape.elements()); }
  void Set(std::size_t i, float value) {
    if (dtype == DType::kFloat32) {
      reinterpret_cast<float*>(in.data())[i] = value;
    } else {
      reinterpret_cast<std::uint16_t*>(in.data())[i] = FloatToHalf(value);
    }
  }
  static float At(const std::vector<std::byte>& from, DType dtype, std::size_t i) {
    if (dtype == DType::kFloat32) return reinterpret_cast<const float*>(from.data())[i];
    return HalfToFloat(reinterpret_cast<const std::uint16_t*>(from.data())[i]);
  }

  DType dtype;
  Shape shape;
  std::vector<std::byte> in, out;
};

/// In step s rank s % ranks leaves this tensor out.
bool LeavesOut(int rank, int ranks, int step, std::size_t tensor) {
  return rank == step % ranks && tensor == static_cast<std::size_t>(step) % std::size(kTensors);
}

class DenseBuckets : public testing::TestWithParam<int> {};

TEST_P(DenseBuckets, TheMeanIsThatOfWhatWasHandedIn) {
  RunLocal(GetParam(), [](Engine& engine) {
    GradientGroupSpec spec{.name = "g"};
    std::vector<Gradient> gradients;
    for (const Tensor& tensor : kTensors) {
      gradients.emplace_back(tensor);
      spec.tensors.push_back({.name = "t" + std::to_string(gradients.size()),
                              .shape = gradients.back().shape,
                              .dtype = tensor.dtype});
    }
    const auto group = engine.Register(std::move(spec));
    for (int step = 0; step < kSteps; ++step) {
      const bool in_place = step % 2 == 1;
      const float scale = step == 4 ? 2.0f : 1.0f;
      group->BeginStep({.loss_scale = scale});
      for (std::size_t t = 0; t < gradients.size(); ++t) {
        Gradient& gradient = gradients[t];
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          gradient.Set(i, scale * Value(t, i, engine.rank(), step));
        }
        if (LeavesOut(engine.rank(), engine.size(), step, t)) continue;
        group->Submit(
            t, {gradient.in.data(), gradient.dtype, gradient.shape},
            {in_place ? gradient.in.data() : gradient.out.data(), gradient.dtype, gradient.shape});
      }
      group->EndStep();
      group->WaitStep();
      for (std::size_t t = 0; t < gradients.size(); ++t) {
        if (LeavesOut(engine.rank(), engine.size(), step, t)) continue;
        const Gradient& gradient = gradients[t];
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          float sum = 0.0f;
          for (int rank = 0; rank < engine.size(); ++rank) {
            if (!LeavesOut(rank, engine.size(), step, t)) sum += Value(t, i, rank, step);
          }
          ASSERT_EQ(Gradient::At(in_place ? gradient.in : gradient.out, gradient.dtype, i),
                    sum / static_cast<float>(engine.size()))
              << "tensor " << t << " entry " << i << " step " << step;
          if (!in_place) {
            ASSERT_EQ(Gradient::At(gradient.in, gradient.dtype, i),
                      scale * Value(t, i, engine.rank(), step))
                << "what was handed in has changed: tensor " << t << " entry " << i;
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DenseBuckets, testing::Values(1, 2, 4));

}  // namespace
}  // namespace weir::dense_buckets_test
