// A push or an answer that fails: gradients count as accumulated where they come from, and servers
// keep nothing of them.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compression/state.h"
#include "coordinator/local_job.h"
#include "coordinator/operation_numbers.h"
#include "tests/ops/faulty_transport.h"
#include "weir/error.h"

namespace weir {
namespace {

using Floats = std::vector<float>;

constexpr int kRanks = 3;
constexpr int kSender = 1;
constexpr int kVictim = 2;
constexpr std::uint32_t kGoodSteps = 2;
const Shape kShape{60, 50};
constexpr std::size_t kElements = 60 * 50;
constexpr float kUntouched = 777.0f;  // No update is that large.

/// The state on the victim, before and after the step that fails.
struct Outcome {
  std::vector<SavedArray> before;
  std::vector<SavedArray> after;
  Floats gradient;
  Floats update;
};

std::vector<SavedArray> StateOf(const GradientGroup& group) {
  std::ostringstream out;
  group.Save(out);
  const std::string bytes = out.str();
  return Deserialize(std::as_bytes(std::span(bytes))).arrays;
}

/// A rank that has its part of the last exchange may come to its end before it hears of the
/// failure.
Outcome TrainUntilItEnds(Engine& engine) {
  // They outlive the group, which may read them until it is gone.
  Outcome outcome{.gradient = Floats(kElements), .update = Floats(kElements)};
  const auto group = engine.Register({.tensors = {{.name = "w", .shape = kShape}},
                                      .compression = {{"compressor", "topk"},
                                                      {"k", "0.1"},
                                                      {"ef", "vanilla"},
                                                      {"min_elements", "0"},
                                                      {"route", "push_pull"},
                                                      {"partition_bytes", "4000"}}});
  for (std::uint32_t step = 0; step <= kGoodSteps; ++step) {
    outcome.before = StateOf(*group);
    for (std::size_t i = 0; i < kElements; ++i) {
      const auto rank = static_cast<std::size_t>(engine.rank());
      outcome.gradient[i] = std::sin(static_cast<float>((i + step) * (i + 1 + rank)));
    }
    outcome.update.assign(kElements, kUntouched);
    try {
      group->BeginStep({});
      group->Submit(0, {outcome.gradient.data(), DType::kFloat32, kShape},
                    {outcome.update.data(), DType::kFloat32, kShape});
      group->EndStep();
      group->WaitStep();
    } catch (const Corrupt&) {
      EXPECT_EQ(step, kGoodSteps);
      if (engine.rank() == kVictim) outcome.after = StateOf(*group);
      return outcome;
    }
  }
  return outcome;
}

/// The last step's exchange number `exchange` (0 or 1) breaks on its way to the victim.
Outcome BreakExchange(std::uint32_t exchange) {
  Settings settings;
  settings.log_level = LogLevel::kFatal;  // What they end with is seen here.
  LocalJob job(kRanks, [&](int rank, std::unique_ptr<Transport> direct) {
    if (rank != kSender) return direct;
    const auto rule = [exchange, seen = std::set<std::uint32_t>()](
                          int peer, Tag tag, std::span<const std::byte>) mutable {
      const bool of_exchange = peer == kVictim && tag.operation >= kFirstExchange;
      if (of_exchange) seen.insert(tag.operation);
      const bool hit = of_exchange && seen.size() == 2 * kGoodSteps + exchange + 1;
      return hit ? FaultyTransport::Damage{.fault = Fault::kTruncate} : FaultyTransport::Damage{};
    };
    return std::unique_ptr<Transport>(std::make_unique<FaultyTransport>(std::move(direct), rule));
  });
  std::vector<Outcome> outcomes(kRanks);
  job.Run(
      [&](Engine& engine) {
        outcomes[static_cast<std::size_t>(engine.rank())] = TrainUntilItEnds(engine);
      },
      settings);
  return outcomes[kVictim];
}

class PushPullFailure : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PushPullFailure, LeavesTheGradientAccumulatedAndServersAsTheyWere) {
  const Outcome outcome = BreakExchange(GetParam());
  ASSERT_EQ(outcome.before.size(), 4u);  // Three parts, and the one that the victim serves.
  ASSERT_EQ(outcome.after.size(), 4u) << "nothing failed on the victim";
  for (std::size_t part = 0; part < 3; ++part) {
    Floats expected = outcome.before[part].values;
    ASSERT_EQ(expected.size(), kElements / 3);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = outcome.gradient[part * expected.size() + i] + expected[i];
    }
    EXPECT_TRUE(outcome.after[part].values == expected) << part;
  }
  EXPECT_EQ(outcome.after[3].tensor, "w#2 at its server");
  EXPECT_NE(outcome.before[3].values, Floats(kElements / 3));
  EXPECT_TRUE(outcome.after[3].values == outcome.before[3].values);
  EXPECT_TRUE(outcome.update == Floats(kElements, kUntouched));
}

INSTANTIATE_TEST_SUITE_P(Exchange, PushPullFailure, testing::Values(0u, 1u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
