#include "compression/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "compression/options/registry.h"
#include "compression/options/route_options.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string WhyRefused(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

std::string WhyRefused(const CompressionOptions& options) {
  return WhyRefused([&] { MakeCompressor(options, {"w", Shape{100, 100}}); });
}

TEST(OptionRule, ParsesWhatPeopleWrite) {
  const OptionRule fraction = RealRule{0.0, 1.0, true};
  EXPECT_EQ(ParseValue(fraction, " 1e-3 "), OptionValue(0.001));
  EXPECT_EQ(ParseValue(fraction, "1"), OptionValue(1.0));
  EXPECT_EQ(ParseValue(FlagRule{}, "True"), OptionValue(true));
  EXPECT_EQ(ParseValue(FlagRule{}, "off"), OptionValue(false));
  EXPECT_EQ(ParseValue(IntegerRule{0}, "1252"), OptionValue(std::int64_t{1252}));
  const OptionRule list = RealListRule{{0.0, 1.0, false, true}};
  EXPECT_EQ(ParseValue(list, "[0.75, 0.9375]"), OptionValue(std::vector{0.75, 0.9375}));
  EXPECT_EQ(ParseValue(list, "0.999"), OptionValue(std::vector{0.999}));
  EXPECT_EQ(ParseValue(CountOrFractionRule{}, "8"), OptionValue(8.0));
  EXPECT_EQ(ParseValue(CountOrFractionRule{}, "0.01"), OptionValue(0.01));
}

TEST(OptionRule, RefusesWhatIsNotAValue) {
  const OptionRule fraction = RealRule{0.0, 1.0, true};
  for (const char* text : {"", "0", "-0.1", "1.01", "nan", "inf", "0.1x", "0,1", "x"}) {
    EXPECT_EQ(ParseValue(fraction, text), std::nullopt) << text;
  }
  for (const char* text : {"", "1.0", "-1", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(ParseValue(IntegerRule{0}, text), std::nullopt) << text;
  }
  const OptionRule list = RealListRule{{0.0, 1.0, false, true}};
  for (const char* text : {"", "[]", "0.75,", "0.75 0.9", "1.0", "[0.5"}) {
    EXPECT_EQ(ParseValue(list, text), std::nullopt) << text;
  }
  for (const char* text : {"0", "-3", "2.5", "inf"}) {
    EXPECT_EQ(ParseValue(CountOrFractionRule{}, text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseValue(FlagRule{}, "maybe"), std::nullopt);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ParseValue(RealRule{0.0, infinity}, "inf"), std::nullopt);
}

TEST(Options, AnUnknownKeyIsNamedWithTheNearestOne) {
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"densty", "0.01"}}),
              AllOf(HasSubstr("\"densty\" = \"0.01\""), HasSubstr("did you mean 'density'?"),
                    HasSubstr("\"topk\""), HasSubstr("warmup_steps")));
}

TEST(Options, AnUnknownCompressorIsNamedWithTheNearestOne) {
  EXPECT_THAT(WhyRefused({{"compressor", "top-k"}}),
              AllOf(HasSubstr("\"top-k\""), HasSubstr("did you mean 'topk'?")));
}

TEST(Options, WhatIsNoSlipIsNotTakenForOne) {
  EXPECT_THAT(WhyRefused({{"compressor", "signum"}, {"route", "allgather"}}),
              AllOf(HasSubstr("understands: compressor, momentum_mu"),
                    testing::Not(HasSubstr("did you mean"))));
  EXPECT_THAT(WhyRefused({{"compressor", "zip"}}),
              AllOf(HasSubstr("known are: auto, bf16"), testing::Not(HasSubstr("did you mean"))));
}

TEST(Options, AMisspeltCompressorKeyIsSeenAsOne) {
  EXPECT_THAT(WhyRefused({{"compresor", "dgc"}}),
              AllOf(HasSubstr("\"compresor\""), HasSubstr("did you mean 'compressor'?")));
}

TEST(Options, ABadValueIsNamedWithWhatIsAllowed) {
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"density", "2"}}),
              AllOf(HasSubstr("\"density\" = \"2\""), HasSubstr("above 0 and at most 1")));
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"values", "fp8"}}),
              HasSubstr("must be fp16, fp32, int8, int4 or int2"));
}

TEST(Options, OneSelectionNeedsTheWholeBucket) {
  EXPECT_EQ(WhyRefused({{"compressor", "dgc"}, {"selection", "bucket"}, {"route", "split"}}),
            "accepted");
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"selection", "bucket"}, {"route", "push_pull"}}),
              AllOf(HasSubstr("selection"), HasSubstr("route=push_pull"), HasSubstr("leave one")));
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"selection", "bucket"}}),
              HasSubstr("is not understood by compressor"));
}

TEST(Options, AdamHasMomentsInPlaceOfMomentum) {
  const auto refused = [](CompressionOptions options) {
    options.insert({{"compressor", "dgc"}, {"momentum", "adam"}});
    return WhyRefused(options);
  };
  EXPECT_EQ(refused({{"beta1", "0.8"}, {"beta2", "0.99"}, {"epsilon", "0"}}), "accepted");
  EXPECT_EQ(refused({{"momentum_masking", "false"}, {"route", "push_pull"}}), "accepted");
  EXPECT_THAT(refused({{"momentum_mu", "0.9"}}), HasSubstr("give \"beta1\""));
  EXPECT_THAT(refused({{"momentum_masking", "true"}}), HasSubstr("drops no moments"));
  EXPECT_THAT(refused({{"gain_compensation", "true"}}), HasSubstr("drops no moments"));
  EXPECT_THAT(refused({{"beta1", "1"}}), HasSubstr("beta1"));
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"beta2", "0.99"}}),
              HasSubstr("only with momentum=adam"));
  // Servers have no moments: what comes to them are steps.
  EXPECT_EQ(WhyRefused(AnswerOptions({{"compressor", "dgc"},
                                      {"momentum", "adam"},
                                      {"beta1", "0.8"},
                                      {"beta2", "0.99"},
                                      {"epsilon", "0"}})),
            "accepted");
}

TEST(Options, ContradictionsAreRefused) {
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"momentum", "nesterov"}}),
              HasSubstr("needs \"momentum_mu\""));
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"momentum_mu", "0.9"}}), HasSubstr("no effect"));
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"k", "8"}, {"warmup_steps", "10"}}),
              HasSubstr("\"k\" is a count"));
  EXPECT_THAT(
      WhyRefused([] {
        ScheduleOf(ParseOptions({{"compressor", "topk"}, {"k", "8"}, {"schedule", "exponential"}}));
      }),
      HasSubstr("\"k\" is a count"));
  EXPECT_EQ(WhyRefused({{"compressor", "topk"}, {"k", "8"}, {"schedule", "constant"}}), "accepted");
  EXPECT_THAT(WhyRefused({{"density", "0.1"}}), HasSubstr("without \"compressor\""));
}

TEST(Options, PartsOfATensorThatAreTooSmallToBeCompressedAreRefused) {
  const auto refused = [](CompressionOptions options) {
    options.insert({{"compressor", "onebit"}, {"route", "push_pull"}});
    return WhyRefused([&] { RouteOf(ParseOptions(options)); });
  };
  EXPECT_THAT(refused({{"partition_bytes", "32768"}}),  // Below min_compress_bytes itself.
              AllOf(HasSubstr("partition_bytes"), HasSubstr("min_compress_bytes")));
  EXPECT_THAT(refused({{"partition_bytes", "131064"}}), HasSubstr("partition_bytes"));
  EXPECT_EQ(refused({{"partition_bytes", "131068"}}), "accepted");
  EXPECT_EQ(refused({{"partition_bytes", "4"}, {"min_compress_bytes", "0"}}), "accepted");
  EXPECT_EQ(refused({}), "accepted");
}

TEST(Options, TheBytePsPrefixIsAccepted) {
  const ParsedOptions options =
      ParseOptions({{"byteps_compressor", "topk"}, {"byteps_k", "0.01"}, {"ef", "vanilla"}});
  EXPECT_EQ(options.compressor(), "topk");
  EXPECT_EQ(options.Real("k"), 0.01);
  EXPECT_THAT(WhyRefused({{"compressor", "topk"}, {"byteps_k", "1"}, {"k", "1"}}),
              HasSubstr("given twice"));
}

TEST(Options, DefaultsAreFilledInAndToldApart) {
  const ParsedOptions options = ParseOptions({{"compressor", "topk"}, {"policy", "never"}});
  EXPECT_TRUE(options.Has("min_compress_bytes"));
  EXPECT_FALSE(options.Given("min_compress_bytes"));
  EXPECT_TRUE(options.Given("policy"));
  EXPECT_FALSE(options.Has("density"));
  EXPECT_EQ(MinElementsOf(options), 16384u);
  EXPECT_EQ(RouteOf(options).policy, RoutePolicy::kNever);
  EXPECT_EQ(ValueTypeOf(options), ValueType::kFloat16);
}

TEST(Options, ValuesHaveTheNamesOfTheirTypes) {
  for (const ValueType type : {ValueType::kFloat16, ValueType::kFloat32, ValueType::kInt8,
                               ValueType::kInt4, ValueType::kInt2}) {
    const ParsedOptions options =
        ParseOptions({{"compressor", "dgc"}, {"values", std::string(Name(type))}});
    EXPECT_EQ(ValueTypeOf(options), type);
  }
  EXPECT_THAT(WhyRefused({{"compressor", "dgc"}, {"values", "int3"}}),
              HasSubstr("fp16, fp32, int8, int4 or int2"));
}

TEST(Options, LowBitValuesAreNotDivided) {
  const auto options = [](const std::string& values) {
    return ParseOptions({{"compressor", "dgc"}, {"values", values}, {"route", "split"}});
  };
  EXPECT_EQ(RouteOf(options("fp16")).compressed, WireRoute::kSplitAllgather);
  try {
    RouteOf(options("int2"));
    FAIL() << "was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"route\""));
    EXPECT_THAT(error.what(), HasSubstr("\"int2\""));
  }
}

TEST(Options, LaterSpecsReplaceEarlierOnes) {
  const auto specs =
      JoinSpecs({MemorySpecs(), {{"momentum", "vanilla", ChoiceRule{{"vanilla"}}, "."}}});
  EXPECT_EQ(specs.size(), MemorySpecs().size());
  EXPECT_EQ(ParsedOptions("x", specs, {}).Choice("momentum"), "vanilla");
}

Schedule ScheduleFor(CompressionOptions options) {
  options["compressor"] = "topk";
  return ScheduleOf(ParseOptions(options));
}

TEST(ScheduleOptions, DensityComesFromWhicheverKeySaysIt) {
  EXPECT_EQ(ScheduleFor({}).Density(0), 0.001);
  EXPECT_EQ(ScheduleFor({{"density", "0.02"}}).Density(0), 0.02);
  EXPECT_EQ(ScheduleFor({{"k", "0.03"}}).Density(0), 0.03);
  EXPECT_DOUBLE_EQ(ScheduleFor({{"sparsity", "0.9"}}).Density(0), 0.1);
  EXPECT_EQ(ScheduleOf(ParseOptions({})).Density(0), 1.0);
  EXPECT_THAT(WhyRefused([] {
                ScheduleFor({{"sparsity", "0.9"}, {"density", "0.1"}});
              }),
              HasSubstr("leave out \"density\""));
  EXPECT_THAT(WhyRefused([] {
                ScheduleFor({{"k", "0.1"}, {"density", "0.2"}});
              }),
              HasSubstr("both say how much is sent"));
}

TEST(ScheduleOptions, AutoIsTheDensityThatSuitsTheRun) {
  const Schedule schedule =
      ScheduleFor({{"density", "auto"}, {"steps", "1000"}, {"warmup_steps", "100"}});
  EXPECT_EQ(schedule.Density(0), 0.25);
  EXPECT_EQ(schedule.Density(99), 0.01);
  EXPECT_EQ(schedule.Density(1'000'000), 0.01);
  EXPECT_EQ(ScheduleFor({{"density", "auto"}, {"steps", "100000"}}).Density(0), 0.001);
  EXPECT_EQ(ScheduleFor({{"density", "auto"}, {"steps", "1000"}, {"rampup_begin_step", "500"}})
                .Density(500),
            0.02);
  EXPECT_EQ(ScheduleFor({{"density", "0.5"}, {"steps", "1000"}}).Density(0), 0.5);
  EXPECT_THAT(WhyRefused([] {
                ScheduleFor({{"density", "auto"}});
              }),
              AllOf(HasSubstr("\"density\" = \"auto\""), HasSubstr("give \"steps\"")));
  EXPECT_THAT(WhyRefused([] {
                ScheduleFor({{"density", "Auto"}});
              }),
              HasSubstr("at most 1, or auto"));
}

TEST(ScheduleOptions, ARunTooShortForItsDensityIsWarnedOf) {
  const auto warning = [](CompressionOptions options) {
    return ShortRunWarningOf(ParseOptions(options), "model");
  };
  const auto dgc = [](const std::string& density, const std::string& steps) {
    return CompressionOptions{{"compressor", "dgc"}, {"density", density}, {"steps", steps}};
  };
  EXPECT_THAT(warning(dgc("0.001", "2999")), HasSubstr("2999 steps"));
  EXPECT_EQ(warning(dgc("0.001", "3000")), "");
  EXPECT_EQ(warning(dgc("auto", "100")), "");
  EXPECT_EQ(warning({{"compressor", "dgc"}, {"density", "0.001"}}), "");
  EXPECT_EQ(warning({{"compressor", "topk"}, {"k", "8"}, {"steps", "10"}}), "");
  EXPECT_EQ(warning({}), "");
  // Dense exchange needs no sends.
  CompressionOptions late = dgc("0.001", "4000");
  late["rampup_begin_step"] = "2000";
  EXPECT_THAT(warning(late), HasSubstr("in 2000 steps"));
  late["rampup_begin_step"] = "5000";
  EXPECT_EQ(warning(late), "");
}

TEST(ScheduleOptions, ARunThatWasTooShortIsToldOfAfterwardsUnlessItsLengthWasGiven) {
  const auto warning = [](CompressionOptions options, std::int64_t done) {
    return EndedShortWarningOf(ParseOptions(options), "model", done);
  };
  CompressionOptions dgc = {{"compressor", "dgc"}, {"density", "0.001"}};
  EXPECT_THAT(warning(dgc, 2999), HasSubstr("2999 steps"));
  EXPECT_EQ(warning(dgc, 3000), "");
  EXPECT_EQ(warning(dgc, 0), "");
  EXPECT_EQ(warning({{"compressor", "topk"}, {"k", "8"}}, 10), "");
  // A compressor that sends everything every time.
  EXPECT_EQ(warning({{"compressor", "dgc"}, {"density", "1"}}, 1), "");
  EXPECT_EQ(warning({}, 1), "");
  for (const CompressorInfo& info : ListCompressors()) {
    const bool selects = info.name == "dgc" || info.name == "topk" || info.name == "randomk";
    EXPECT_EQ(warning({{"compressor", info.name}}, 1) != "", selects) << info.name;
  }
  // Steps of the dense phase do not count.
  dgc["rampup_begin_step"] = "2000";
  EXPECT_THAT(warning(dgc, 4000), HasSubstr("in 2000 steps"));
  EXPECT_EQ(warning(dgc, 2000), "");
  dgc["steps"] = "5000";
  EXPECT_EQ(warning(dgc, 2500), "") << "of a run in several parts, this is one";
}

TEST(ScheduleOptions, PaddlesNamesMeanTheSame) {
  const Schedule schedule =
      ScheduleFor({{"rampup_begin_step", "5"}, {"rampup_step", "10"}, {"sparsity", "0.75,0.9375"}});
  EXPECT_TRUE(schedule.DensePhase(4));
  EXPECT_EQ(schedule.Density(5), 0.25);
  EXPECT_EQ(schedule.Density(9), 0.25);
  EXPECT_EQ(schedule.Density(10), 0.0625);
  EXPECT_EQ(schedule.Density(1000), 0.0625);
  EXPECT_THAT(WhyRefused([] {
                ScheduleFor({{"rampup_step", "1"}, {"warmup_steps", "2"}});
              }),
              HasSubstr("contradicts"));
}

TEST(StepOptions, AreReadForAnyCompressor) {
  const StepSettings none = StepSettingsOf(ParseOptions({}));
  EXPECT_EQ(none.clip_norm, std::nullopt);
  const StepSettings some = StepSettingsOf(ParseOptions({{"compressor", "topk"},
                                                         {"clip_norm", "2.5"},
                                                         {"clip_scale", "0"},
                                                         {"skip_nonfinite", "1"}}));
  EXPECT_EQ(some.clip_norm, 2.5);
  EXPECT_EQ(some.clip_scale, 0.0);
  EXPECT_TRUE(some.skip_nonfinite);
}

TEST(Registry, EveryCompressorParsesItsOwnDefaultsAndExplainsItself) {
  for (const CompressorInfo& info : ListCompressors()) {
    EXPECT_FALSE(info.summary.empty());
    EXPECT_NO_THROW(ParseOptions({{"compressor", info.name}})) << info.name;
    for (const OptionSpec& spec : info.options) {
      EXPECT_FALSE(spec.help.empty()) << info.name << " " << spec.key;
      EXPECT_FALSE(Describe(spec.rule).empty());
    }
  }
}

// That none is missing is asserted where they are named: CompressorLaws, in codec_laws_test.cc.
TEST(Registry, EveryCompressorHasANumberOfItsOwn) {
  std::map<CodecId, std::string> names;
  for (const CompressorInfo& info : ListCompressors()) {
    EXPECT_NE(info.codec, CodecId::kUnlisted) << info.name;
    const auto [first, is_new] = names.emplace(info.codec, info.name);
    EXPECT_TRUE(is_new) << info.name << " has the number of " << first->second;
  }
  EXPECT_FALSE(names.empty());
}

TEST(Registry, NoOptionsMeanDense) {
  const auto compressor = MakeCompressor(CompressionOptions{}, {"w", Shape{2000}});
  EXPECT_EQ(compressor->summable(), DType::kFloat32);
}

TEST(Options, TheSmallestTensorIsGivenInElementsOrInBytes) {
  const auto least = [](CompressionOptions options) {
    return MinElementsOf(ParseOptions(options));
  };
  EXPECT_EQ(least({{"compressor", "dgc"}}), 1024u);
  EXPECT_EQ(least({{"compressor", "dgc"}, {"min_compress_bytes", "401"}}), 101u);
  EXPECT_EQ(least({{"compressor", "topk"}, {"byteps_min_compress_bytes", "400"}}), 100u);
  EXPECT_EQ(least({{"compressor", "topk"}, {"min_elements", "7"}}), 7u);
  EXPECT_EQ(least({{"compressor", "dense"}}), 0u);
  EXPECT_THAT(
      [&] {
        least({{"compressor", "topk"}, {"min_elements", "7"}, {"min_compress_bytes", "28"}});
      },
      testing::ThrowsMessage<InvalidArgument>(HasSubstr("leave one of them out")));
}

}  // namespace
}  // namespace weir
