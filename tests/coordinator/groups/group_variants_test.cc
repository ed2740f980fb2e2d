// Tensors of one group that are each compressed differently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"

namespace weir::group_variants_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Options kDgc = {{"compressor", "dgc"},     {"density", "0.05"},   {"momentum", "vanilla"},
                      {"momentum_mu", "0.9"},    {"warmup_steps", "3"}, {"min_elements", "100"},
                      {"rampup_begin_step", "1"}};
const Options kTopK = {
    {"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "100"}};
const Options kHalf = {{"compressor", "fp16"}};

Options With(Options options, const std::string& pattern, const Options& of_pattern) {
  for (const auto& [key, value] : of_pattern) options[key + "[" + pattern + "]"] = value;
  return options;
}

/// A group of tensor `index` of Shapes() alone, and one step of it.
std::unique_ptr<GradientGroup> RegisterOne(Engine& engine, std::size_t index,
                                           const Options& options) {
  const GradientSpec tensor = SpecOf({}).tensors[index];
  return engine.Register({.name = tensor.name, .tensors = {tensor}, .compression = options});
}

std::vector<float> StepOne(GradientGroup& group, std::vector<float> gradient) {
  const float rate = 0.1f;
  const TensorView view{gradient.data(), DType::kFloat32, group.spec().tensors.front().shape};
  group.BeginStep({.learning_rates = std::span<const float>(&rate, 1)});
  group.Submit(0, view, view);
  group.EndStep();
  group.WaitStep();
  return gradient;
}

class GroupVariants : public testing::TestWithParam<int> {};

TEST_P(GroupVariants, EveryTensorIsCompressedAsInAGroupOfItsOwn) {
  RunLocal(GetParam(), [](Engine& engine) {
    const std::vector<Options> own = {kDgc, kHalf, kTopK};
    const auto together =
        engine.Register(SpecOf(With(With(kDgc, "*1", kHalf), "p2", kTopK), "together"));
    std::vector<std::unique_ptr<GradientGroup>> alone;
    for (std::size_t i = 0; i < own.size(); ++i) alone.push_back(RegisterOne(engine, i, own[i]));
    for (int step = 0; step < 6; ++step) {
      const Tensors gradients = GradientOf(engine.rank(), step);
      const Tensors updates = Step(*together, gradients);
      for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(updates[i], StepOne(*alone[i], gradients[i])) << "step " << step << " p" << i;
      }
      EXPECT_EQ(together->next_density(), alone[0]->next_density());
    }
  });
}

TEST_P(GroupVariants, ATensorsOwnOptionsStandInPlaceOfTheGroups) {
  RunLocal(GetParam(), [](Engine& engine) {
    GradientGroupSpec spec = SpecOf(kDgc, "given");
    spec.tensors[2].compression = kTopK;
    const auto given = engine.Register(spec);
    const auto by_pattern = engine.Register(SpecOf(With(kDgc, "p2", kTopK), "by pattern"));
    for (int step = 0; step < 3; ++step) {
      const Tensors gradients = GradientOf(engine.rank(), step);
      EXPECT_EQ(Step(*given, gradients), Step(*by_pattern, gradients));
    }
  });
}

TEST_P(GroupVariants, ClippingIsByTheNormOfAllTensorsTogether) {
  const auto clipped = [](Options options) {
    options["clip_norm"] = "1.5";
    return options;
  };
  const Options dense = {{"compressor", "dense"}};
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto uniform = engine.Register(SpecOf(clipped(dense), "uniform"));
    const auto mixed = engine.Register(SpecOf(clipped(With(dense, "p2", kTopK)), "mixed"));
    const Tensors gradients = GradientOf(engine.rank(), 0);
    const Tensors expected = Step(*uniform, gradients);
    const Tensors updates = Step(*mixed, gradients);
    EXPECT_EQ(updates[0], expected[0]);
    EXPECT_NE(updates[2], expected[2]);
  });
}

TEST_P(GroupVariants, StateOfEveryCompressorResumesBitForBit) {
  const Options options = With(kDgc, "p2", kTopK);
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto whole = engine.Register(SpecOf(options, "whole"));
    auto half = engine.Register(SpecOf(options, "half"));
    for (int step = 0; step < 3; ++step) {
      Step(*whole, GradientOf(engine.rank(), step));
      Step(*half, GradientOf(engine.rank(), step));
    }
    std::stringstream saved;
    half->Save(saved);
    half.reset();
    half = engine.Register(SpecOf(options, "half"));
    std::istream* const file = &saved;
    half->Load({&file, 1});
    const Tensors gradients = GradientOf(engine.rank(), 3);
    EXPECT_EQ(Step(*half, gradients), Step(*whole, gradients));
  });
}

TEST_P(GroupVariants, ASumNeedsCompressorsOfWholeArraysForEveryTensor) {
  RunLocal(GetParam(), [](Engine& engine) {
    GradientGroupSpec spec = SpecOf(With({}, "p1", kHalf), "halves");
    spec.op = ReduceOp::kSum;
    Step(*engine.Register(spec), GradientOf(engine.rank(), 0));
    spec.compression = With({}, "p2", kTopK);
    EXPECT_THAT([&] { engine.Register(spec); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("compressed by 'topk'")));
  });
}

TEST_P(GroupVariants, WhatDoesNotSuitATensorNamesItAndItsPatterns) {
  RunLocal(GetParam(), [](Engine& engine) {
    const Options options = {{"compressor", "dgc"},
                             {"compressor[p*]", "topk"},
                             {"k[p*]", "8"},
                             {"warmup_steps[*2]", "10"}};
    EXPECT_THAT([&] { engine.Register(SpecOf(options)); },
                testing::ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("for tensor \"p2\" (matched by"), HasSubstr("\"*2\""),
                          HasSubstr("\"p*\""), HasSubstr("\"k\" is a count"))));
  });
}

TEST_P(GroupVariants, APatternThatMatchesNoTensorIsAnErrorUnderStrictSettings) {
  const Options options = With(kHalf, "q*", kTopK);
  RunLocal(GetParam(), [&](Engine& engine) {
    Step(*engine.Register(SpecOf(options)), GradientOf(engine.rank(), 0));
  });
  Settings strict;
  strict.strict = true;
  RunLocal(
      GetParam(),
      [&](Engine& engine) {
        EXPECT_THAT([&] { engine.Register(SpecOf(options)); },
                    testing::ThrowsMessage<InvalidArgument>(
                        AllOf(HasSubstr("strict settings"), HasSubstr("\"q*\""))));
      },
      strict);
}

TEST_P(GroupVariants, OneRankWarnsOnceOfARunThatIsTooShort) {
  const auto of_run = [](const std::string& density) {
    return Options{{"compressor", "dgc"},
                   {"steps", "1000"},
                   {"density", density},
                   {"density[p1]", density},
                   {"compressor[p0]", "dense"}};
  };
  for (const char* density : {"0.002", "auto"}) {
    testing::internal::CaptureStderr();
    RunLocal(GetParam(), [&](Engine& engine) { engine.Register(SpecOf(of_run(density))); });
    const std::string log = testing::internal::GetCapturedStderr();
    const std::size_t first = log.find("the run is short for 'model': in 1000 steps");
    EXPECT_EQ(first != std::string::npos, density == std::string("0.002")) << log;
    if (first == std::string::npos) continue;
    EXPECT_EQ(log.find("the run is short", first + 1), std::string::npos) << log;
  }
}

TEST_P(GroupVariants, OneRankSaysOnceWhatIsAllowedAndSeldomMeant) {
  for (const char* least : {"1", "100000"}) {  // With the latter all stay dense.
    testing::internal::CaptureStderr();
    RunLocal(GetParam(), [&](Engine& engine) {
      engine.Register(
          SpecOf({{"compressor", "topk"}, {"k", "4"}, {"k[p1]", "5"}, {"min_elements", least}}));
    });
    const std::string log = testing::internal::GetCapturedStderr();
    const std::string said = "gradients of 'model': what topk does not send is lost";
    EXPECT_EQ(log.find(said) != std::string::npos, least == std::string("1")) << log;
    EXPECT_EQ(log.find(said), log.rfind(said)) << log;
  }
}

TEST_P(GroupVariants, OneRankSaysThatThereIsNoHierarchyOfHosts) {
  testing::internal::CaptureStderr();
  RunLocal(GetParam(), [&](Engine& engine) {
    engine.Register(SpecOf({{"compressor", "dgc"}, {"route", "hierarchical"}}));
  });
  const std::string log = testing::internal::GetCapturedStderr();
  const std::size_t first = log.find("'model' asks for route=hierarchical, which takes two hosts");
  EXPECT_EQ(first != std::string::npos, GetParam() > 1) << log;
  EXPECT_EQ(log.rfind("asks for route"), log.find("asks for route")) << log;
}

// Whichever ends first, the group or the engine.
TEST_P(GroupVariants, OneRankWarnsOnceOfARunThatWasTooShort) {
  const Options options = {{"compressor", "dgc"}, {"density", "0.05"}, {"compressor[p0]", "dense"}};
  for (const bool shut_down_first : {false, true}) {
    for (const int steps : {0, 2, 60}) {
      testing::internal::CaptureStderr();
      RunLocal(GetParam(), [&](Engine& engine) {
        const auto group = engine.Register(SpecOf(options));
        for (int step = 0; step < steps; ++step) Step(*group, GradientOf(engine.rank(), step));
        if (shut_down_first) engine.Shutdown();
      });
      const std::string log = testing::internal::GetCapturedStderr();
      const std::size_t first = log.find("the run was short for 'model': in 2 steps");
      EXPECT_EQ(first != std::string::npos, steps == 2) << log;
      EXPECT_EQ(log.find("the run was short", first == std::string::npos ? 0 : first + 1),
                std::string::npos)
          << log;
    }
  }
}

TEST(GroupOfAFailedJob, IsNotToldThatItsRunWasShort) {
  testing::internal::CaptureStderr();
  RunLocal(1, [](Engine& engine) {
    const auto group = engine.Register(SpecOf({{"compressor", "dgc"}, {"density", "0.05"}}));
    Step(*group, GradientOf(0, 0));
    engine.Abort("enough");
    EXPECT_THROW(Step(*group, GradientOf(0, 1)), Error);
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("the run was short"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupVariants, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::group_variants_test
