// Nothing is lost, with any compressor and on any route: after every step, the applied updates,
// times the number of contributors, plus the rest that they and servers keep, equal the
// contributions. For each compressor of the registry that keeps unsent entries, with each kind of
// momentum, on each of its routes. Dedicated servers keep theirs where no rank sees it:
// tests/coordinator/servers/served_conservation_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "compression/dgc/dgc_math.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/keeping_cases.h"
#include "tests/coordinator/jobs/kept.h"

namespace weir::conservation_test {
namespace {

constexpr int kSteps = 20;
constexpr int kContributors = 3;  ///< Ranks, or hosts where a host's ranks compress together.
constexpr float kMomentum = 0.9f;

struct Tensor {
  const char* name;
  Shape shape;

  std::size_t elements() const { return static_cast<std::size_t>(shape.elements()); }
};
/// The first one in four parts where there are parts.
const Tensor kTensors[] = {{"w", Shape{7, 43}}, {"b", Shape{37}}};
constexpr std::size_t kTensorCount = 2;

int RanksOf(const KeepingCase& what) { return kContributors * what.ranks_per_contributor; }

/// One tensor on one rank after one step.
struct Seen {
  std::vector<float> update;
  Kept kept;
};
using Floats = std::vector<float>;
/// By rank, step (the first one before all of them) and tensor.
using History = std::vector<std::vector<std::vector<Seen>>>;
using Gradients = std::vector<std::vector<std::vector<Floats>>>;

Gradients RandomGradients(int ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Gradients gradients(static_cast<std::size_t>(ranks));
  for (auto& of_rank : gradients) {
    of_rank.resize(kSteps);
    for (auto& of_step : of_rank) {
      for (const Tensor& tensor : kTensors) {
        Floats& values = of_step.emplace_back(tensor.elements());
        for (float& value : values) value = normal(random);
      }
    }
  }
  return gradients;
}

/// One rank's part in the job. `gradients` by step and tensor.
std::vector<std::vector<Seen>> Train(EngineImpl& engine, const KeepingCase& what,
                                     const std::vector<std::vector<Floats>>& gradients) {
  GradientGroupSpec spec{.name = "g", .compression = what.options};
  std::vector<Seen> now;
  for (const Tensor& tensor : kTensors) {
    const std::size_t n = tensor.elements();
    spec.tensors.push_back({.name = tensor.name, .shape = tensor.shape});
    now.push_back({Floats(n), {Floats(n), Floats(n), Floats(n)}});
  }
  const auto group = engine.Register(spec);
  const std::uint64_t before = engine.recorder().added();
  std::vector<std::vector<Seen>> seen = {now};
  for (const std::vector<Floats>& gradient : gradients) {
    const float rate = 0.1f;
    group->BeginStep({.learning_rates = std::span(&rate, 1)});
    for (std::size_t t = 0; t < kTensorCount; ++t) {
      group->Submit(t, {gradient[t].data(), DType::kFloat32, kTensors[t].shape},
                    {now[t].update.data(), DType::kFloat32, kTensors[t].shape});
    }
    group->EndStep();
    group->WaitStep();
    std::ostringstream saved;
    group->Save(saved);
    for (std::size_t t = 0; t < kTensorCount; ++t) {
      now[t].kept = KeptOf(saved.str(), kTensors[t].name, kTensors[t].elements());
    }
    seen.push_back(now);
  }
  std::vector<StageRecord> records(4096);
  records.resize(engine.recorder().Read(before, records).count);
  for (const StageRecord& record : records) {
    if (record.stage != Stage::kExchange || record.step < 0) continue;
    EXPECT_EQ(record.route, static_cast<std::uint8_t>(what.route)) << "another route was taken";
  }
  return seen;
}

History TrainAll(const KeepingCase& what, const Gradients& gradients) {
  History history(gradients.size());
  JobOnHosts job(RanksOf(what), what.ranks_per_contributor);
  job.Run(
      [&](Engine& engine) {
        const auto rank = static_cast<std::size_t>(engine.rank());
        history[rank] = Train(dynamic_cast<EngineImpl&>(engine), what, gradients[rank]);
      },
      {});
  return history;
}

/// Addition to a contributor's rest, rounded as it rounds. `momentum` is the previous one.
float Contribution(Before before, float gradient, float momentum) {
  switch (before) {
    case Before::kNothing:
      return gradient;
    case Before::kDgcVanilla:
      return AdvanceMomentum(Momentum::kVanilla, kMomentum, gradient, momentum);
    case Before::kDgcNesterov:
      return AdvanceMomentum(Momentum::kNesterov, kMomentum, gradient, momentum);
    case Before::kNesterov:
      return gradient + kMomentum * (kMomentum * momentum + gradient);
  }
  return 0.0f;
}

/// Both sides for one entry, and how much went through roundings so far.
class Account {
 public:
  Account(const KeepingCase& what, const Gradients& gradients, const History& history,
          std::size_t tensor, std::size_t entry)
      : what_(what), gradients_(gradients), history_(history), t_(tensor), i_(entry) {}

  void Step(std::size_t step) {
    const auto per_contributor = static_cast<std::size_t>(what_.ranks_per_contributor);
    kept_ = 0.0;
    for (std::size_t rank = 0; rank < history_.size(); ++rank) {
      const Kept& before = history_[rank][step][t_].kept;
      const Kept& after = history_[rank][step + 1][t_].kept;
      kept_ += double{after.unsent[i_]} + kContributors * double{after.served[i_]};
      moved_ += std::abs(before.unsent[i_]) + std::abs(after.unsent[i_]) +
                kContributors * (std::abs(before.served[i_]) + std::abs(after.served[i_]));
      if (rank % per_contributor != 0) continue;
      float gradient = gradients_[rank][step][t_][i_];
      if (per_contributor == 2) gradient = (gradient + gradients_[rank + 1][step][t_][i_]) / 2.0f;
      const float added = Contribution(what_.before, gradient, before.momentum[i_]);
      contributed_ += added;
      moved_ += std::abs(added);
    }
    const float update = history_[0][step + 1][t_].update[i_];
    applied_ += update;
    moved_ += kContributors * std::abs(update);
  }
  double missing() const { return std::abs(kContributors * applied_ + kept_ - contributed_); }
  /// In each step every number that goes into it is rounded at most so often, by half an ulp:
  /// twice where a rank adds and subtracts, where all are added up and divided by their number, and
  /// twice where a server does as a rank does. None of those numbers is larger than all together.
  double bound() const {
    return moved_ * ((2 + 2) * 0x1p-24 + (kContributors - 1 + 1) * what_.sum_unit);
  }
  double kept() const { return kept_; }

 private:
  const KeepingCase& what_;
  const Gradients& gradients_;
  const History& history_;
  const std::size_t t_;
  const std::size_t i_;
  double contributed_ = 0.0;
  double applied_ = 0.0;
  double kept_ = 0.0;
  double moved_ = 0.0;
};

void ExpectTheSameUpdates(const std::vector<std::vector<Seen>>& one,
                          const std::vector<std::vector<Seen>>& other) {
  for (std::size_t step = 0; step <= kSteps; ++step) {
    for (std::size_t t = 0; t < kTensorCount; ++t) {
      ASSERT_EQ(one[step][t].update, other[step][t].update)
          << "ranks apply different bits in step " << step - 1;
    }
  }
}

class Conservation : public testing::TestWithParam<KeepingCase> {
 protected:
  const std::uint32_t seed_ = std::random_device{}();
};

TEST_P(Conservation, WhatWasContributedIsAppliedOrKeptAfterEveryStep) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const KeepingCase& what = GetParam();
  const Gradients gradients = RandomGradients(RanksOf(what), seed_);
  const History history = TrainAll(what, gradients);
  for (const auto& of_rank : history) ASSERT_EQ(of_rank.size(), kSteps + 1U);
  for (const auto& of_rank : history) ExpectTheSameUpdates(of_rank, history.front());
  bool keeps = false;
  for (std::size_t t = 0; t < kTensorCount; ++t) {
    // With dgc's momentum a vector's is of the average, and what it adds is no rank's.
    const bool dgc = what.before == Before::kDgcVanilla || what.before == Before::kDgcNesterov;
    if (dgc && kTensors[t].shape.rank() == 1) continue;
    for (std::size_t i = 0; i < kTensors[t].elements(); ++i) {
      Account account(what, gradients, history, t, i);
      for (std::size_t step = 0; step < kSteps; ++step) {
        account.Step(step);
        ASSERT_LE(account.missing(), account.bound())
            << kTensors[t].name << "[" << i << "] after step " << step;
        keeps = keeps || account.kept() != 0.0;
      }
    }
  }
  EXPECT_EQ(keeps, what.options.at("compressor") != "dense") << "was anything compressed?";
}

INSTANTIATE_TEST_SUITE_P(, Conservation, testing::ValuesIn(KeepingCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::conservation_test
