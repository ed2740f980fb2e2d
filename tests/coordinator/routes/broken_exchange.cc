#include "tests/coordinator/routes/broken_exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "coordinator/engine/local_job.h"
#include "coordinator/work/operation_numbers.h"
#include "tests/ops/transport/faulty_transport.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr int kRanks = 3;
constexpr int kSender = 1;
constexpr int kVictim = 2;
constexpr std::uint32_t kGoodSteps = 2;

std::vector<SavedArray> StateOf(const GradientGroup& group) {
  std::ostringstream out;
  group.Save(out);
  const std::string bytes = out.str();
  return Deserialize(std::as_bytes(std::span(bytes))).arrays;
}

/// A rank that has its part of the last exchange may come to its end before it hears of the
/// failure.
BrokenExchange TrainUntilItEnds(Engine& engine, const Options& compression) {
  // They outlive the group, which may read them until it is gone.
  BrokenExchange outcome{.before = {},
                         .after = {},
                         .gradient = std::vector<float>(kBrokenElements),
                         .update = std::vector<float>(kBrokenElements)};
  const auto group = engine.Register(
      {.tensors = {{.name = "w", .shape = kBrokenShape}}, .compression = compression});
  const auto rank = static_cast<std::size_t>(engine.rank());
  for (std::uint32_t step = 0; step <= kGoodSteps; ++step) {
    outcome.before = StateOf(*group);
    for (std::size_t i = 0; i < kBrokenElements; ++i) {
      outcome.gradient[i] = std::sin(static_cast<float>((i + step) * (i + 1 + rank)));
    }
    outcome.update.assign(kBrokenElements, kUntouched);
    try {
      group->BeginStep({});
      group->Submit(0, {outcome.gradient.data(), DType::kFloat32, kBrokenShape},
                    {outcome.update.data(), DType::kFloat32, kBrokenShape});
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

}  // namespace

BrokenExchange BreakExchange(std::uint32_t exchange, const Options& compression) {
  Settings settings;
  settings.log_level = LogLevel::kFatal;  // Their errors are expected here.
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
  std::vector<BrokenExchange> outcomes(kRanks);
  job.Run(
      [&](Engine& engine) {
        outcomes[static_cast<std::size_t>(engine.rank())] = TrainUntilItEnds(engine, compression);
      },
      settings);
  return outcomes[kVictim];
}

}  // namespace weir
