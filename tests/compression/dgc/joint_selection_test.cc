#include "compression/dgc/joint_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/dgc/dgc.h"
#include "tests/compression/dgc/simulated_ranks.h"

namespace weir {
namespace {

using Entry = std::pair<std::size_t, std::uint32_t>;  // Tensor, index.
using Gradients = std::vector<std::vector<float>>;
using Sizes = std::vector<std::size_t>;

/// The tensors of one bucket on one rank, selected together.
class Bucket {
 public:
  explicit Bucket(const Sizes& sizes, DgcSettings settings = {.values = ValueType::kFloat32})
      : sizes_(sizes) {
    settings.joint = true;
    std::vector<JointCompressor*> joint;
    for (const std::size_t n : sizes) {
      compressors.push_back(std::make_unique<Dgc>(settings, n));
      joint.push_back(compressors.back()->joint());
    }
    selection = std::make_unique<JointSelection>(joint);
  }

  /// Takes the gradients in and selects; nothing is encoded.
  void Select(const StepContext& context, const Gradients& gradients) {
    selection->Begin(context.density);
    for (std::size_t t = 0; t < sizes_.size(); ++t) {
      selection->Accumulate(*compressors[t]->joint(), context, gradients[t]);
    }
    selection->Select();
  }

  /// Returns what was sent of each tensor, as receivers read it.
  std::vector<SparseEntries> Encode(const StepContext& context) {
    std::vector<SparseEntries> sent;
    bytes = 0;
    for (std::size_t t = 0; t < sizes_.size(); ++t) {
      std::vector<std::byte> payload(selection->MaxEncodedBytesOfOne(sizes_[t], context.density));
      payload.resize(compressors[t]->joint()->EncodeTaken(context, payload));
      bytes += payload.size();
      sent.push_back(compressors[t]->Entries(payload));
    }
    return sent;
  }

  std::vector<SparseEntries> Step(const StepContext& context, const Gradients& gradients) {
    Select(context, gradients);
    return Encode(context);
  }

  std::span<float> v(std::size_t tensor) { return StateOf(*compressors[tensor], "velocity"); }

  std::vector<std::unique_ptr<Dgc>> compressors;
  std::unique_ptr<JointSelection> selection;
  std::size_t bytes = 0;  ///< All of the last Encode's payloads.

 private:
  Sizes sizes_;
};

/// The header's promise, as one would first write it: the largest of each tensor, then the largest
/// of the rest, until there are k.
std::vector<Entry> Expected(const Gradients& v, std::size_t k) {
  const auto before = [&](const Entry& a, const Entry& b) {
    const float x = std::fabs(v[a.first][a.second]);
    const float y = std::fabs(v[b.first][b.second]);
    return x != y ? x > y : a < b;
  };
  std::vector<Entry> chosen;
  std::vector<Entry> rest;
  for (std::size_t t = 0; t < v.size(); ++t) {
    std::vector<Entry> all;
    for (std::uint32_t i = 0; i < v[t].size(); ++i) all.emplace_back(t, i);
    const auto largest = std::ranges::min_element(all, before);
    chosen.push_back(*largest);
    all.erase(largest);
    rest.insert(rest.end(), all.begin(), all.end());
  }
  const auto end = rest.begin() + static_cast<std::ptrdiff_t>(k - chosen.size());
  std::nth_element(rest.begin(), end, rest.end(), before);
  chosen.insert(chosen.end(), rest.begin(), end);
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<Entry> EntriesOf(const std::vector<SparseEntries>& sent) {
  std::vector<Entry> entries;
  for (std::size_t t = 0; t < sent.size(); ++t) {
    for (const std::uint32_t i : sent[t].indices) entries.emplace_back(t, i);
  }
  return entries;
}

/// Tensors of magnitudes that differ and change, one so small that it never reaches the others.
Gradients GradientsOf(const Sizes& sizes, int step, std::mt19937& random) {
  Gradients gradients;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    const float scale =
        t == 1 ? 1e-6f : std::pow(0.97f, static_cast<float>(step)) * (1.0f + static_cast<float>(t));
    std::normal_distribution<float> normal(0.0f, scale);
    auto& gradient = gradients.emplace_back(sizes[t]);
    for (float& g : gradient) g = normal(random);
  }
  return gradients;
}

std::size_t Total(const Sizes& sizes, double density) {
  std::size_t k = 0;
  for (const std::size_t n : sizes) k += EntriesToSend(n, density);
  return k;
}

const Sizes kSmall = {900, 400, 1500};
const Sizes kLarge = {60000, 3000, 100000, 7};

TEST(JointSelection, SendsTheLargestOfAllAndOneOfEach) {
  for (const Sizes& sizes : {kSmall, kLarge}) {
    for (const double density : {1.0, 0.3, 0.02, 0.001, 1e-9}) {
      SCOPED_TRACE(std::to_string(sizes[0]) + " at " + std::to_string(density));
      std::mt19937 random(7);
      // Without momentum, v is what it was and the gradient.
      Bucket bucket(sizes, {.rule = {.momentum = Momentum::kNone}, .values = ValueType::kFloat32});
      for (int step = 0; step < 12; ++step) {
        Gradients v = GradientsOf(sizes, step, random);
        const Gradients gradients = v;
        for (std::size_t t = 0; t < sizes.size(); ++t) {
          for (std::size_t i = 0; i < v[t].size(); ++i) v[t][i] += bucket.v(t)[i];
        }
        const auto sent = bucket.Step({.step = step, .density = density}, gradients);
        ASSERT_EQ(EntriesOf(sent), Expected(v, Total(sizes, density))) << "step " << step;
      }
    }
  }
}

TEST(JointSelection, SendsAsManyAsTheTensorsWouldByThemselves) {
  std::mt19937 random(8);
  Bucket bucket(kLarge);
  for (const double density : {0.25, 0.0625, 0.004, 0.001, 0.001, 0.5, 0.001}) {
    const auto sent = bucket.Step({.density = density}, GradientsOf(kLarge, 0, random));
    EXPECT_EQ(EntriesOf(sent).size(), Total(kLarge, density));
    for (const SparseEntries& entries : sent) EXPECT_GE(entries.indices.size(), 1u);
  }
}

TEST(JointSelection, TiesGoToTheEarlierTensorThenToTheLowerIndex) {
  for (const Sizes& sizes : {Sizes{30, 40, 50}, Sizes{6000, 4000, 5000}}) {
    for (const std::size_t divisor : {10, 100}) {
      const double density = 1.0 / static_cast<double>(divisor);
      Bucket bucket(sizes, {.rule = {.momentum = Momentum::kNone}, .values = ValueType::kFloat32});
      for (int step = 0; step < 3; ++step) {
        Gradients gradients;
        for (const std::size_t n : sizes) gradients.emplace_back(n, 2.0f);
        Gradients v = gradients;
        for (std::size_t t = 0; t < sizes.size(); ++t) {
          for (std::size_t i = 0; i < v[t].size(); ++i) v[t][i] += bucket.v(t)[i];
        }
        const auto sent = bucket.Step({.density = density}, gradients);
        ASSERT_EQ(EntriesOf(sent), Expected(v, Total(sizes, density))) << step;
      }
    }
  }
}

TEST(JointSelection, OfOneTensorEqualsItsOwnSelection) {
  std::mt19937 random(9);
  const std::size_t n = 50000;
  Bucket bucket({n}, {.values = ValueType::kFloat16});
  Dgc alone({.values = ValueType::kFloat16}, n);
  for (int step = 0; step < 10; ++step) {
    const StepContext context{.step = step, .density = 0.002};
    const Gradients gradients = GradientsOf({n}, step, random);
    std::vector<std::byte> payload(alone.MaxEncodedBytes(context.density));
    payload.resize(alone.Encode(context, gradients[0], payload));
    EXPECT_LE(payload.size(), bucket.selection->MaxEncodedBytesOfOne(n, context.density));
    const SparseEntries expected = alone.Entries(payload);
    const auto sent = bucket.Step(context, gradients);
    ASSERT_EQ(sent[0].indices, expected.indices);
    ASSERT_EQ(BitsOf(sent[0].values), BitsOf(expected.values));
    ASSERT_EQ(CopyState(*bucket.compressors[0]), CopyState(alone));
  }
}

TEST(JointSelection, DoesNotDependOnThreadsOrOnWhatCameBefore) {
  ThreadPool pool(4);
  std::mt19937 random(10);
  const Sizes sizes = {200000, 150000};
  Bucket warm(sizes);
  Bucket threads(sizes);
  for (int step = 0; step < 6; ++step) {
    const Gradients gradients = GradientsOf(sizes, step, random);
    Bucket cold(sizes);
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      LoadState(CopyState(*warm.compressors[t]), *cold.compressors[t]);
      cold.compressors[t]->Restored();
    }
    const auto expected = EntriesOf(warm.Step({.step = step, .density = 0.001}, gradients));
    EXPECT_EQ(EntriesOf(cold.Step({.step = step, .density = 0.001}, gradients)), expected);
    EXPECT_EQ(EntriesOf(threads.Step({.step = step, .density = 0.001, .pool = &pool}, gradients)),
              expected);
  }
}

// The reason for its speed. At the start v grows faster between steps than the threshold expects.
TEST(JointSelection, LooksAtFewEntriesOnceItKnowsAThreshold) {
  std::mt19937 random(11);
  const Sizes sizes = {50000, 50000};
  Bucket bucket(sizes);
  int steps_that_looked_at_all = 0;
  for (int step = 0; step < 60; ++step) {
    Gradients gradients;
    for (const std::size_t n : sizes) gradients.push_back(GradientsOf({n}, 0, random)[0]);
    bucket.Step({.step = step, .density = 0.001}, gradients);
    std::size_t collected = 0;
    for (const auto& compressor : bucket.compressors) {
      for (const auto source : compressor->joint()->step().collected()) collected += source.size();
    }
    if (step >= 20 && collected > 1000) ++steps_that_looked_at_all;
  }
  EXPECT_LE(steps_that_looked_at_all, 2) << "of 40";
}

TEST(JointSelection, WhatIsAccumulatedIsSentOrKept) {
  for (const ValueType values : {ValueType::kFloat32, ValueType::kFloat16, ValueType::kInt4}) {
    std::mt19937 random(12);
    Bucket bucket(kSmall, {.rule = {.momentum = Momentum::kNone}, .values = values});
    std::vector<std::vector<double>> given;
    for (const std::size_t n : kSmall) given.emplace_back(n);
    for (int step = 0; step < 50; ++step) {
      const Gradients gradients = GradientsOf(kSmall, step, random);
      const auto sent = bucket.Step({.step = step, .density = 0.01}, gradients);
      for (std::size_t t = 0; t < kSmall.size(); ++t) {
        for (std::size_t i = 0; i < kSmall[t]; ++i)
          given[t][i] += static_cast<double>(gradients[t][i]);
        for (std::size_t i = 0; i < sent[t].indices.size(); ++i) {
          given[t][sent[t].indices[i]] -= static_cast<double>(sent[t].values[i]);
        }
      }
    }
    for (std::size_t t = 0; t < kSmall.size(); ++t) {
      for (std::size_t i = 0; i < kSmall[t]; ++i) {
        // 50 roundings of sums below 64.
        ASSERT_NEAR(static_cast<double>(bucket.v(t)[i]), given[t][i], 50 * 4e-6);
      }
    }
  }
}

TEST(JointSelection, RevertLeavesTheGradientAccumulatedAndNothingSent) {
  std::mt19937 random(13);
  const StepContext context{.density = 0.01};
  Bucket failing(kLarge);
  Bucket selected(kLarge);
  for (int step = 0; step < 3; ++step) {
    const Gradients gradients = GradientsOf(kLarge, step, random);
    failing.Step(context, gradients);
    selected.Step(context, gradients);
  }
  const Gradients gradients = GradientsOf(kLarge, 3, random);
  failing.Step(context, gradients);
  for (const auto& compressor : failing.compressors) compressor->Revert();
  selected.Select(context, gradients);  // The exchange that failed came before encoding.
  for (std::size_t t = 0; t < kLarge.size(); ++t) {
    EXPECT_EQ(CopyState(*failing.compressors[t]), CopyState(*selected.compressors[t]));
    selected.compressors[t]->Revert();
    EXPECT_EQ(CopyState(*failing.compressors[t]), CopyState(*selected.compressors[t]));
  }
}

TEST(JointSelection, NoNanHidesBehindOtherTensors) {
  Bucket bucket(kSmall);
  Gradients gradients;
  for (const std::size_t n : kSmall) gradients.emplace_back(n, 1.0f);
  bucket.v(1)[17] = std::numeric_limits<float>::quiet_NaN();
  bucket.v(2)[3] = -std::numeric_limits<float>::infinity();
  bucket.Step({.density = 0.01}, gradients);
  EXPECT_EQ(bucket.v(1)[17], 0.0f);
  EXPECT_EQ(bucket.v(2)[3], 0.0f);
  EXPECT_EQ(bucket.compressors[1]->non_finite_entries(), 1u);
}

// Receivers have so much room: however the entries are divided, frames fit.
TEST(JointSelection, PayloadsStayBelowTheirBounds) {
  std::mt19937 random(14);
  for (const ValueType values : {ValueType::kFloat32, ValueType::kFloat16, ValueType::kInt8,
                                 ValueType::kInt4, ValueType::kInt2}) {
    for (int round = 0; round < 60; ++round) {
      Sizes sizes(1 + random() % 9);
      for (std::size_t& n : sizes) n = 1 + random() % (round % 2 == 0 ? 40 : 4000);
      const double density = std::pow(10.0, -3.0 * static_cast<double>(random() % 100) / 100.0);
      Bucket bucket(sizes, {.rule = {.momentum = Momentum::kNone}, .values = values});
      Gradients gradients;
      for (const std::size_t n : sizes) {
        // In some tensors everything is large, in others nothing is.
        std::normal_distribution<float> normal(0.0f, random() % 2 == 0 ? 1.0f : 1e-5f);
        auto& gradient = gradients.emplace_back(n);
        for (float& g : gradient) g = normal(random);
      }
      bucket.Step({.density = density}, gradients);
      ASSERT_LE(bucket.bytes, bucket.selection->MaxEncodedBytes(density))
          << "round " << round << ", density " << density;
    }
  }
}

TEST(JointSelection, BoundsAreAboutWhatIsSent) {
  const Sizes sizes(50, 20000);
  const Bucket bucket(sizes);
  std::size_t apart = 0;
  for (const auto& compressor : bucket.compressors) apart += compressor->MaxEncodedBytes(0.001);
  EXPECT_LT(bucket.selection->MaxEncodedBytes(0.001), apart + 8 * sizes.size());
  EXPECT_LT(bucket.selection->MaxEncodedBytesOfOne(20000, 0.001),
            bucket.compressors[0]->MaxEncodedBytes(0.06));
}

}  // namespace
}  // namespace weir
