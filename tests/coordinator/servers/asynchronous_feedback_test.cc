// Ranks that do not wait for each other (max_staleness) and send a part of what they have: in the
// end each has received everything, once. The servers' rest until then:
// tests/coordinator/servers/served_conservation_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "compression/options/options.h"
#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/kept.h"

namespace weir::asynchronous_feedback_test {
namespace {

using Floats = std::vector<float>;

const Shape kShape{7, 43};
constexpr std::size_t kElements = 7 * 43;
constexpr int kSteps = 20;
constexpr int kStaleness = 2;
/// With a quarter of the entries in each step everything has left a rank after four without a
/// gradient. The last rank may be kStaleness behind; then the servers' residuals leave in four.
constexpr int kSilentSteps = 4 + (kStaleness + 1) + 4;

struct Kind {
  const char* name;
  CompressionOptions compression;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::vector<Kind> Kinds() {
  return {{"TopK", {{"compressor", "topk"}, {"ef", "vanilla"}}},
          {"Dgc", {{"compressor", "dgc"}, {"momentum", "none"}}}};
}

/// By rank and step.
using Gradients = std::vector<std::vector<Floats>>;

Gradients RandomGradients(int ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Gradients gradients(static_cast<std::size_t>(ranks),
                      std::vector<Floats>(kSteps, Floats(kElements)));
  for (auto& of_rank : gradients) {
    for (Floats& of_step : of_rank) {
      for (float& value : of_step) value = normal(random);
    }
  }
  return gradients;
}

struct Sums {
  std::vector<double> applied = std::vector<double>(kElements);
  std::vector<double> magnitude = std::vector<double>(kElements);  ///< In the updates.
  Floats unsent;                                                   ///< In the end.
};

/// Sums of a rank's updates, with its gradients and then with none.
Sums Train(Engine& engine, const CompressionOptions& options, const std::vector<Floats>& mine) {
  const auto group = engine.Register(
      {.name = "g", .tensors = {{.name = "w", .shape = kShape}}, .compression = options});
  Sums sums;
  const Floats nothing(kElements);
  Floats update(kElements);
  for (std::size_t step = 0; step < kSteps + kSilentSteps; ++step) {
    const Floats& gradient = step < kSteps ? mine[step] : nothing;
    group->BeginStep({});
    group->Submit(0, {gradient.data(), DType::kFloat32, kShape},
                  {update.data(), DType::kFloat32, kShape});
    group->EndStep();
    group->WaitStep();
    for (std::size_t i = 0; i < kElements; ++i) {
      sums.applied[i] += update[i];
      sums.magnitude[i] += std::abs(update[i]);
    }
  }
  std::ostringstream saved;
  group->Save(saved);
  sums.unsent = KeptOf(saved.str(), "w", kElements).unsent;
  return sums;
}

/// Kind, ranks, servers of their own.
class AsynchronousFeedback : public testing::TestWithParam<std::tuple<Kind, int, int>> {
 protected:
  CompressionOptions options() const {
    CompressionOptions options = std::get<0>(GetParam()).compression;
    options.insert({{"density", "0.25"},
                    {"values", "fp32"},
                    {"min_elements", "1"},
                    {"route", "push_pull"},
                    {"partition_bytes", "400"},
                    {"max_staleness", std::to_string(kStaleness)}});
    return options;
  }
  const std::uint32_t seed_ = std::random_device{}();
};

TEST_P(AsynchronousFeedback, BringsEachContributionToEachRankOnce) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const int ranks = std::get<1>(GetParam());
  Settings settings;
  settings.servers = std::get<2>(GetParam());
  const Gradients gradients = RandomGradients(ranks, seed_);
  const auto sums = Results(
      RunLocal, ranks,
      [&](Engine& engine) {
        return Train(engine, options(), gradients[static_cast<std::size_t>(engine.rank())]);
      },
      settings);
  for (const auto& [rank, of_rank] : sums) {
    SCOPED_TRACE(testing::Message() << "rank " << rank);
    EXPECT_EQ(of_rank.unsent, Floats(kElements));
    for (std::size_t i = 0; i < kElements; ++i) {
      double contributed = 0.0;
      double magnitude = 0.0;
      for (const auto& theirs : gradients) {
        for (const Floats& gradient : theirs) {
          contributed += gradient[i];
          magnitude += std::abs(gradient[i]);
        }
      }
      // An entry is added to a rank's residual, to a box, divided, and added to a server's residual
      // in each step, and each may be as large as all gradients so far.
      const double bound = (kSteps + kSilentSteps) * (ranks + 3) * 0x1p-24 *
                           (magnitude + ranks * of_rank.magnitude[i]);
      ASSERT_NEAR(ranks * of_rank.applied[i], contributed, bound) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, AsynchronousFeedback,
                         testing::Combine(testing::ValuesIn(Kinds()), testing::Values(1, 2, 3),
                                          testing::Values(0, 1, 2)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + std::string("Ranks") +
                                  std::to_string(std::get<1>(test.param)) + "Servers" +
                                  std::to_string(std::get<2>(test.param));
                         });

}  // namespace
}  // namespace weir::asynchronous_feedback_test
