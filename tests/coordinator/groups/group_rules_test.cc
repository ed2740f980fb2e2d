// Rules of a group of gradients beyond the plain step: what belongs to this rank alone (clipping,
// loss scale) and what to all ranks, and who may have which name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <sstream>
#include <string>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"

namespace weir {
namespace {

using testing::HasSubstr;

double Norm(const Tensors& tensors) {
  double sum = 0.0;
  for (const auto& tensor : tensors) {
    for (const float value : tensor) sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(sum);
}

class GroupRules : public testing::TestWithParam<int> {};

TEST_P(GroupRules, EachRankClipsItsOwnGradientBeforeTheyAreAveraged) {
  const int ranks = GetParam();
  constexpr double kClip = 2.0;
  RunLocal(ranks, [&](Engine& engine) {
    const auto group = engine.Register(SpecOf({{"compressor", "dense"}, {"clip_norm", "2"}}));
    const Tensors updates = Step(*group, GradientOf(engine.rank(), 0));
    EXPECT_TRUE(SameAsRankZero(engine, updates));
    std::vector<double> coefficients;
    for (int rank = 0; rank < ranks; ++rank) {
      coefficients.push_back(std::min(1.0, kClip * std::sqrt(ranks) / Norm(GradientOf(rank, 0))));
    }
    Tensors expected = updates;
    for (auto& tensor : expected) std::ranges::fill(tensor, 0.0f);
    for (int rank = 0; rank < ranks; ++rank) {
      const Tensors gradient = GradientOf(rank, 0);
      const double factor = coefficients[static_cast<std::size_t>(rank)] / ranks;
      for (std::size_t t = 0; t < gradient.size(); ++t) {
        for (std::size_t i = 0; i < gradient[t].size(); ++i) {
          expected[t][i] += static_cast<float>(factor * static_cast<double>(gradient[t][i]));
        }
      }
    }
    for (std::size_t t = 0; t < updates.size(); ++t) {
      EXPECT_THAT(updates[t], testing::Pointwise(testing::FloatNear(1e-5f), expected[t]));
    }
  });
}

TEST_P(GroupRules, ReplicasStayEqualWithClippingInTheDensePhaseOfDgc) {
  const Options options = {{"compressor", "dgc"},      {"density", "0.05"},
                           {"momentum", "vanilla"},    {"momentum_mu", "0.9"},
                           {"rampup_begin_step", "2"}, {"clip_norm", "1.5"},
                           {"min_elements", "100"}};
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group = engine.Register(SpecOf(options));
    for (int step = 0; step < 5; ++step) {
      EXPECT_TRUE(SameAsRankZero(engine, Step(*group, GradientOf(engine.rank(), step)))) << step;
    }
  });
}

TEST_P(GroupRules, ALossScaleOfEachRanksOwnIsTakenOut) {
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto plain = engine.Register(SpecOf({}, "plain"));
    const auto scaled = engine.Register(SpecOf({}, "scaled"));
    const auto scale = static_cast<float>(1 << (2 + engine.rank()));
    Tensors gradients = GradientOf(engine.rank(), 0);
    const Tensors expected = Step(*plain, gradients);
    for (auto& gradient : gradients) {
      for (float& value : gradient) value *= scale;
    }
    EXPECT_EQ(Step(*scaled, gradients, 0.1f, scale), expected);
  });
}

TEST_P(GroupRules, HalfPrecisionIsSummedByAnAllReduceWhateverTheTensorsSize) {
  RunLocal(GetParam(), [&](Engine& engine) {
    for (const char* compressor : {"fp16", "bf16"}) {
      const auto group = engine.Register(SpecOf({{"compressor", compressor}}, compressor));
      Tensors gradients = GradientOf(engine.rank(), 0);
      group->BeginStep({});
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const TensorView view{gradients[i].data(), DType::kFloat32, Shapes()[i]};
        group->Submit(i, view, view);
      }
      group->EndStep();
      const StepReport report = group->WaitStep();
      EXPECT_EQ(report.wire_bytes, report.dense_bytes / 2) << compressor;
    }
  });
}

TEST_P(GroupRules, ErrorFeedbackResumesBitForBitUnderAChangingLearningRate) {
  const Options options = {
      {"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "100"}};
  const auto rate = [](int step) { return 0.5f / static_cast<float>(step + 1); };
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto whole = engine.Register(SpecOf(options, "whole"));
    auto first = engine.Register(SpecOf(options, "half"));
    for (int step = 0; step < 3; ++step) {
      Step(*whole, GradientOf(engine.rank(), step), rate(step));
      Step(*first, GradientOf(engine.rank(), step), rate(step));
    }
    std::stringstream saved;
    first->Save(saved);
    first.reset();
    const auto second = engine.Register(SpecOf(options, "half"));
    std::istream* const file = &saved;
    second->Load({&file, 1});
    for (int step = 3; step < 6; ++step) {
      EXPECT_EQ(Step(*second, GradientOf(engine.rank(), step), rate(step)),
                Step(*whole, GradientOf(engine.rank(), step), rate(step)))
          << step;
    }
  });
}

TEST_P(GroupRules, ReplicasStayEqualWhenMoreRanksGoOn) {
  const Options options = {{"compressor", "dgc"},      {"density", "0.05"},
                           {"momentum", "vanilla"},    {"momentum_mu", "0.9"},
                           {"rampup_begin_step", "4"}, {"min_elements", "100"}};
  const int former = GetParam();
  for (const int steps : {2, 6}) {  // In the dense phase, and after it.
    std::vector<std::string> saved(static_cast<std::size_t>(former));
    RunLocal(former, [&](Engine& engine) {
      const auto group = engine.Register(SpecOf(options));
      for (int step = 0; step < steps; ++step) Step(*group, GradientOf(engine.rank(), step));
      std::ostringstream out;
      group->Save(out);
      saved[static_cast<std::size_t>(engine.rank())] = out.str();
    });
    RunLocal(former + 2, [&](Engine& engine) {
      const auto group = engine.Register(SpecOf(options));
      std::vector<std::istringstream> files(saved.begin(), saved.end());
      std::vector<std::istream*> pointers;
      for (auto& file : files) pointers.push_back(&file);
      group->Load(pointers);
      for (int step = steps; step < steps + 3; ++step) {
        EXPECT_TRUE(SameAsRankZero(engine, Step(*group, GradientOf(engine.rank(), step)))) << step;
      }
    });
  }
}

TEST_P(GroupRules, ANameBelongsToOneLivingGroup) {
  RunLocal(GetParam(), [&](Engine& engine) {
    auto group = engine.Register(SpecOf({}));
    try {
      engine.Register(SpecOf({}));
      ADD_FAILURE() << "the second group was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("'model' exists already"));
    }
    group.reset();
    group = engine.Register(SpecOf({}));
    Step(*group, GradientOf(engine.rank(), 0));
  });
}

TEST_P(GroupRules, DefaultCompressionComesFromTheSettings) {
  Settings settings;
  settings.compression = {{"compressor", "fp16"}};
  RunLocal(
      GetParam(),
      [&](Engine& engine) {
        const auto by_default = engine.Register(SpecOf({}, "default"));
        const auto given = engine.Register(SpecOf({{"compressor", "fp16"}}, "given"));
        EXPECT_EQ(Step(*by_default, GradientOf(engine.rank(), 0)),
                  Step(*given, GradientOf(engine.rank(), 0)));
      },
      settings);
}

// Many ranks, each of whose frames holds half of the entries: the sum of the frames is larger than
// an all-reduce.
TEST(GroupStrict, ABucketThatWouldTravelUncompressedIsAnError) {
  Settings settings;
  settings.strict = true;
  const Options half = {{"compressor", "topk"}, {"density", "0.5"}, {"min_elements", "100"}};
  RunLocal(
      8,
      [&](Engine& engine) {
        const auto group = engine.Register(SpecOf(half));
        EXPECT_THAT([&] { Step(*group, GradientOf(engine.rank(), 0)); },
                    testing::ThrowsMessage<InvalidArgument>(
                        testing::AllOf(HasSubstr("'model' would travel uncompressed in step 0"),
                                       HasSubstr("policy=auto"))));
        for (const char* policy : {"auto", "never", "always"}) {
          Options options = half;
          options["policy"] = policy;
          const auto said = engine.Register(SpecOf(options, policy));
          Step(*said, GradientOf(engine.rank(), 0));
        }
      },
      settings);
}

TEST(GroupEnd, AFailedStepFailsEvenWhenItsErrorsWereHeardOneByOne) {
  std::latch handed_over(2);
  RunLocal(3, [&](Engine& engine) {
    const auto group = engine.Register(SpecOf({}));
    if (engine.rank() == 2) {
      handed_over.wait();
      return engine.Abort("enough");
    }
    const Tensors gradients = GradientOf(engine.rank(), 0);
    Tensors updates = gradients;
    std::vector<Handle> handles;
    group->BeginStep({});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      handles.push_back(group->Submit(i, {gradients[i].data(), DType::kFloat32, Shapes()[i]},
                                      {updates[i].data(), DType::kFloat32, Shapes()[i]}));
    }
    group->EndStep();
    handed_over.count_down();
    for (const Handle handle : handles) EXPECT_THROW(engine.Wait(handle), PeerLost);
    EXPECT_THROW(group->WaitStep(), PeerLost);
    EXPECT_EQ(group->next_step(), 0);
  });
}

TEST_P(GroupRules, ANameThatIsRegisteredAnewIsNegotiatedAnew) {
  RunLocal(GetParam(), [&](Engine& engine) {
    engine.Register(SpecOf({})).reset();
    GradientGroupSpec changed = SpecOf({});
    if (engine.rank() == 0) changed.tensors.pop_back();
    if (engine.size() == 1) {
      engine.Register(changed);
      return;
    }
    EXPECT_THROW(engine.Register(changed), Mismatch);
    const auto group = engine.Register(SpecOf({}));
    Step(*group, GradientOf(engine.rank(), 0));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupRules, testing::Values(1, 2, 3, 4),
                         testing::PrintToStringParamName());

TEST(GroupRates, EveryParameterGroupNeedsOneRate) {
  RunLocal(1, [](Engine& engine) {
    const auto group = engine.Register(SpecOf({}));
    const std::vector<float> rates = {0.1f, 0.2f};
    EXPECT_THROW(group->BeginStep({.learning_rates = rates}), InvalidArgument);
    for (const float rate : {std::nanf(""), HUGE_VALF}) {
      EXPECT_THROW(group->BeginStep({.learning_rates = std::span<const float>(&rate, 1)}),
                   InvalidArgument);
    }
    EXPECT_THROW(group->SetDefaultUpdate(3, nullptr), InvalidArgument);
    Step(*group, GradientOf(0, 0));
  });
}

}  // namespace
}  // namespace weir
