#include "compression/wire/sparse_payload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compression/wire/frame.h"
#include "tests/compression/wire/model_shapes.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using test::Encoded;
using test::FormOf;
using test::kAllValueTypes;
using test::RandomSample;
using test::SparseSample;

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Encode, merge into zeros: exactly the decoded values, exactly at the indices.
void ExpectRoundTrip(SparseSample sample, ValueType type) {
  const std::vector<float> before = sample.values;
  const std::vector<std::byte> payload = Encoded(sample, type);
  const SparseForm form = FormOf(sample, type);
  std::vector<float> sum(sample.n);
  MergeSparse(payload, form, sum);
  std::vector<float> expected(sample.n);
  for (std::size_t i = 0; i < sample.indices.size(); ++i) {
    expected[sample.indices[i]] = sample.values[i];
    if (IsLowBit(type)) continue;  // How near, low_bit_values_test.cc says.
    const float tolerance = type == ValueType::kFloat32 ? 0.0f : std::ldexp(8.0f, -11);
    EXPECT_NEAR(sample.values[i], before[i], tolerance);
  }
  ASSERT_EQ(sum, expected);
  SubtractSparse(payload, form, sum);
  ASSERT_EQ(sum, std::vector<float>(sample.n));
}

TEST(SparsePayload, EverySmallCountSurvives) {
  const unsigned seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (std::size_t n = 1; n <= 70; ++n) {
    for (std::size_t k = 0; k <= n; ++k) {
      SCOPED_TRACE(testing::Message() << k << " of " << n);
      for (const ValueType type : kAllValueTypes) {
        ExpectRoundTrip(RandomSample(n, k, random), type);
      }
    }
  }
}

TEST(SparsePayload, EveryDensitySurvives) {
  const unsigned seed = 12;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (std::size_t n : {1000, 4096, 65537, 1000003}) {
    for (double density : {1e-6, 1e-4, 0.001, 0.004, 0.03, 0.0625, 0.2, 0.25, 0.3, 0.6, 1.0}) {
      const auto k = std::max<std::size_t>(1, static_cast<std::size_t>(density * n));
      SCOPED_TRACE(testing::Message() << k << " of " << n);
      ExpectRoundTrip(RandomSample(n, k, random), ValueType::kFloat16);
      ExpectRoundTrip(RandomSample(n, k, random), ValueType::kInt2);
    }
  }
}

TEST(SparsePayload, ClusteredIndicesSurvive) {
  for (std::uint32_t first : {0u, 500000u, 1000000u - 300u}) {
    SparseSample sample{1000000, {}, {}};
    for (std::uint32_t i = 0; i < 300; ++i) {
      sample.indices.push_back(first + i);
      sample.values.push_back(1.0f + static_cast<float>(i));
    }
    ExpectRoundTrip(sample, ValueType::kFloat32);
    ExpectRoundTrip(sample, ValueType::kInt4);
  }
}

TEST(SparsePayload, NoPayloadIsLongerThanAnnouncedAndLowBitOnesAreShorter) {
  std::mt19937 random(13);
  for (const double density : {0.001, 0.02, 0.25, 0.9}) {
    const std::size_t n = 100'000;
    const auto k = static_cast<std::size_t>(density * static_cast<double>(n));
    for (const ValueType type : kAllValueTypes) {
      SparseSample sample = RandomSample(n, k, random);
      const std::size_t bytes = Encoded(sample, type).size();
      if (IsLowBit(type)) {
        EXPECT_LE(bytes, SparsePayloadBytes(n, k, type));
        EXPECT_LT(bytes, SparsePayloadBytes(n, k, ValueType::kFloat16));
      } else {
        EXPECT_EQ(bytes, SparsePayloadBytes(n, k, type));
      }
    }
  }
}

TEST(SparsePayload, LastElementOfTheLargestTensorSurvives) {
  const std::size_t n = UINT32_MAX;
  const std::vector<std::uint32_t> indices = {0, UINT32_MAX - 1};
  std::vector<float> values = {1.0f, 2.0f};
  std::vector<std::byte> payload(SparsePayloadBytes(n, 2, ValueType::kFloat16));
  EXPECT_EQ(payload.size(), 6u + (2 * 30 + 4) / 8 + 1 + 4);
  EXPECT_EQ(EncodeSparse(n, indices, values, ValueType::kFloat16, payload), payload.size());
}

/// 4n over the payload of one rank at 99.9 %, in one frame.
double RatioAt999(const test::ModelShapes& model, ValueType type = ValueType::kFloat16) {
  std::mt19937 random(14);
  std::size_t bytes = kFrameHeaderBytes;
  for (std::size_t n : model.matrices) {
    const auto k = static_cast<std::size_t>(std::llround(0.001 * static_cast<double>(n)));
    if (!IsLowBit(type)) {
      bytes += SparsePayloadBytes(n, std::max<std::size_t>(1, k), type);
      continue;
    }
    SparseSample sample = RandomSample(n, std::max<std::size_t>(1, k), random);
    bytes += sizeof(std::uint32_t) + Encoded(sample, type).size();  // Its length, and the part.
  }
  for (std::size_t n : model.vectors) {
    bytes += DensePayloadBytes(n, type) + (IsLowBit(type) ? sizeof(std::uint32_t) : 0);
  }
  return 4.0 * static_cast<double>(model.elements()) / static_cast<double>(bytes);
}

TEST(SparsePayload, PaperModelsShrinkAsPlanned) {
  ASSERT_EQ(test::ResNet50().elements(), 25557032u);
  ASSERT_EQ(test::AlexNet().elements(), 60965224u);
  ASSERT_EQ(test::PtbLstm().elements(), 51034000u);
  EXPECT_GE(RatioAt999(test::ResNet50()), 515.0);
  EXPECT_GE(RatioAt999(test::AlexNet()), 1035.0);
  EXPECT_GE(RatioAt999(test::PtbLstm()), 825.0);
  EXPECT_GE(RatioAt999(test::ResNet50(), ValueType::kInt2), 670.0);
  EXPECT_GE(RatioAt999(test::AlexNet(), ValueType::kInt2), 1900.0);
}

TEST(SparsePayload, LooksAsDocumented) {
  SparseSample sample{16, {3, 9, 14}, {1.0f, -0.5f, 0.25f}};
  test::ExpectAsOnThePage(Encoded(sample, ValueType::kFloat32),
                          "11 00 03 00 00 00 27 29 00 00 80 3f 00 00 00 bf 00 00 80 3e");
}

TEST(SparsePayload, LowBitPartsLookAsDocumented) {
  const auto expect = [](ValueType type, const std::string& example) {
    SparseSample sample{1024, {3, 9, 14}, {1.0f, -0.5f, 0.25f}};
    test::ExpectAsOnThePage(Encoded(sample, type), example);
  };
  expect(ValueType::kInt8, "23 f1 03 00 00 00 01 03 92 09 5c 7f c1 20");
  expect(ValueType::kInt4, "33 f1 03 00 00 00 01 03 92 93 6c d7 02");
  expect(ValueType::kInt2, "43 f1 03 00 00 00 01 03 92 00 72 00 78 09");
}

TEST(DensePayload, LooksAsDocumented) {
  const auto expect = [](ValueType type, const std::string& example) {
    std::vector<float> values = {1.0f, -0.5f, 0.25f};
    std::vector<std::byte> part(DensePayloadBytes(values.size(), type));
    part.resize(EncodeDense(values, type, part));
    test::ExpectAsOnThePage(part, example);
  };
  expect(ValueType::kFloat16, "00 f1 00 78 00 f4 00 70");
  expect(ValueType::kFloat32, "10 00 00 00 80 3f 00 00 00 bf 00 00 80 3e");
  expect(ValueType::kInt8, "20 f1 09 5c 7f c1 20");
}

TEST(SparsePayload, ABitmapIsTakenWhereItIsSmaller) {
  const std::size_t header_and_values = 6 + 2 * 500;
  EXPECT_EQ(SparsePayloadBytes(1000, 500, ValueType::kFloat16), header_and_values + 125);
  EXPECT_LT(SparsePayloadBytes(8000, 500, ValueType::kFloat16), header_and_values + 1000);
}

TEST(SparsePayload, ScaleKeepsTinyAndHugeValues) {
  for (float magnitude : {1e-44f, 1e-38f, 1e-20f, 1e-8f, 1.0f, 7e4f, 1e20f, 3.4e38f}) {
    std::vector<std::uint32_t> indices = {3, 9};
    std::vector<float> values = {magnitude, -magnitude / 2};
    const std::vector<float> before = values;
    std::vector<std::byte> payload(SparsePayloadBytes(10, 2, ValueType::kFloat16));
    EncodeSparse(10, indices, values, ValueType::kFloat16, payload);
    for (int i = 0; i < 2; ++i) {
      const float rounding = std::abs(before[i]) / 1024 + std::numeric_limits<float>::denorm_min();
      EXPECT_NEAR(values[i], before[i], rounding) << magnitude;
      EXPECT_TRUE(std::isfinite(values[i]));
    }
  }
}

TEST(SparsePayload, NeverSendsWhatIsNotFinite) {
  for (ValueType type : {ValueType::kFloat16, ValueType::kFloat32}) {
    SparseSample sample{100, {1, 2, 3, 4}, {kInfinite, -kInfinite, std::nanf(""), 2.5f}};
    const std::vector<std::byte> payload = Encoded(sample, type);
    std::vector<float> sum(100);
    MergeSparse(payload, {100, 4, type}, sum);
    EXPECT_TRUE(std::isfinite(sum[1]) && sum[1] > 3.9f);
    EXPECT_TRUE(std::isfinite(sum[2]) && sum[2] < -3.9f);
    EXPECT_EQ(sum[3], 0.0f);
  }
}

TEST(DensePayload, RoundTripsAndAdds) {
  for (const ValueType type : kAllValueTypes) {
    for (std::size_t n : {0, 1, 7, 511, 512, 513, 5000}) {
      std::mt19937 random(static_cast<unsigned>(n));
      std::vector<float> values = RandomSample(n, n, random).values;
      const std::vector<float> before = values;
      std::vector<std::byte> payload(DensePayloadBytes(n, type));
      EXPECT_EQ(EncodeDense(values, type, payload), payload.size());
      std::vector<float> sum(n, 1.0f);
      MergeDense(payload, type, sum);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(sum[i], 1.0f + values[i]);
        if (IsLowBit(type)) continue;
        EXPECT_NEAR(values[i], before[i], type == ValueType::kFloat32 ? 0.0f : 0.004f);
      }
    }
  }
}

}  // namespace
}  // namespace weir
