// Outer: rounds between local steps, against the algorithm computed on all ranks' values at once.
#include "weir/outer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir::outer_test {
namespace {

using Values = std::vector<float>;
constexpr int kRanks = 3;
constexpr int kSteps = 11;

/// A step of plain SGD on this rank's own gradients.
void TakeLocalStep(Model& model, int step, int rank) {
  model.DrawGradients(step, rank);
  const std::vector<Parameter> parameters = model.Parameters();
  for (const Parameter& parameter : parameters) {
    for (std::size_t i = 0; i < parameter.value.size(); ++i) {
      parameter.value[i] -= 0.1f * parameter.gradient[i];
    }
  }
}

/// All ranks of a job in one place; its model is one fragment.
class Reference {
 public:
  explicit Reference(OuterOptions options) : options_(std::move(options)) {
    for (Model& model : models_) values_.push_back(model.Values());
    anchor_ = values_.front();
    velocity_.resize(anchor_.size());
  }

  void TakeStep(int step) {
    for (int rank = 0; rank < kRanks; ++rank) {
      Model& model = models_[static_cast<std::size_t>(rank)];
      model.DrawGradients(step, rank);
      Values& value = values_[static_cast<std::size_t>(rank)];
      const Values gradient = model.Gradients();
      for (std::size_t i = 0; i < value.size(); ++i) value[i] -= 0.1f * gradient[i];
    }
    if (step + 1 == ends_after_) End();
    if ((step + 1) % options_.every == 0) {
      sent_ = values_;
      ends_after_ = step + 1 + options_.overlap;
      if (options_.overlap == 0) End();
    }
  }

  const Values& Of(int rank) const { return values_[static_cast<std::size_t>(rank)]; }

 private:
  void End() {
    for (std::size_t i = 0; i < anchor_.size(); ++i) {
      float way = 0;
      for (const Values& sent : sent_) way += (anchor_[i] - sent[i]) / kRanks;
      velocity_[i] = options_.momentum * velocity_[i] + way;
      anchor_[i] -= options_.learning_rate * (way + options_.momentum * velocity_[i]);
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        values_[rank][i] += anchor_[i] - sent_[rank][i];
      }
    }
  }

  const OuterOptions options_;
  std::array<Model, kRanks> models_;
  std::vector<Values> values_;
  std::vector<Values> sent_;
  Values anchor_, velocity_;
  int ends_after_ = -1;
};

OuterOptions Every4(int overlap, float rate = 0.7f, float momentum = 0.9f) {
  OuterOptions options;
  options.every = 4;
  options.overlap = overlap;
  options.learning_rate = rate;
  options.momentum = momentum;
  options.compression = {{"compressor", "dense"}};
  return options;
}

class OuterRounds : public testing::TestWithParam<OuterOptions> {};

TEST_P(OuterRounds, AreThoseOfTheAlgorithm) {
  RunLocal(kRanks, [&](Engine& engine) {
    Model model(engine.rank() == 0 ? 1 : 50);  // Rank 0's becomes everybody's.
    Outer outer(engine, model.Parameters(), GetParam());
    Reference reference(GetParam());
    for (int step = 0; step < kSteps; ++step) {
      TakeLocalStep(model, step, engine.rank());
      outer.AfterStep();
      reference.TakeStep(step);
      EXPECT_THAT(model.Values(),
                  testing::Pointwise(testing::FloatNear(1e-4f), reference.Of(engine.rank())))
          << "step " << step;
    }
    EXPECT_EQ(outer.steps(), kSteps);
    ASSERT_TRUE(outer.last_round().has_value());
    EXPECT_EQ(outer.last_round()->step, 1);  // The second round has ended.
  });
}

INSTANTIATE_TEST_SUITE_P(Options, OuterRounds,
                         testing::Values(Every4(0), Every4(0, 1.0f, 0.0f), Every4(2)));

/// Returns the values of all ranks.
std::vector<Values> TrainedValues(const std::function<void(Outer&, Model&, int)>& train,
                                  const OuterOptions& options) {
  std::vector<Values> values(kRanks);
  RunLocal(kRanks, [&](Engine& engine) {
    Model model;
    Outer outer(engine, model.Parameters(), options);
    train(outer, model, engine.rank());
    values[static_cast<std::size_t>(engine.rank())] = model.Values();
  });
  return values;
}

OuterOptions Streaming(std::map<std::string, std::string> compression) {
  OuterOptions options;
  options.every = 5;
  options.fragments = 2;
  options.overlap = 3;
  options.compression = std::move(compression);
  return options;
}

class OuterCompression : public testing::TestWithParam<std::map<std::string, std::string>> {};

TEST_P(OuterCompression, EndsWithTheSameBitsOnAllRanks) {
  const auto values = TrainedValues(
      [](Outer& outer, Model& model, int rank) {
        for (int step = 0; step < kSteps; ++step) {
          TakeLocalStep(model, step, rank);
          outer.AfterStep();
        }
        outer.Synchronize();
        const Values after = model.Values();
        outer.Synchronize();  // Nothing has happened since.
        EXPECT_EQ(model.Values(), after);
      },
      Streaming(GetParam()));
  EXPECT_THAT(values, testing::Each(values.front()));
}

TEST_P(OuterCompression, ASavedStateGoesOnWithTheSameBits) {
  std::vector<std::string> files(kRanks);
  const auto whole = TrainedValues(
      [&](Outer& outer, Model& model, int rank) {
        for (int step = 0; step < kSteps; ++step) {
          if (step == 6) {  // In the middle of a round.
            std::ostringstream out;
            outer.Save(out);
            files[static_cast<std::size_t>(rank)] = out.str();
          }
          TakeLocalStep(model, step, rank);
          outer.AfterStep();
        }
      },
      Streaming(GetParam()));
  const auto resumed = TrainedValues(
      [&](Outer& outer, Model& model, int rank) {
        std::istringstream file(files[static_cast<std::size_t>(rank)]);
        std::istream* const streams[] = {&file};
        outer.Load(streams);
        for (int step = 6; step < kSteps; ++step) {
          TakeLocalStep(model, step, rank);
          outer.AfterStep();
        }
      },
      Streaming(GetParam()));
  EXPECT_EQ(resumed, whole);
}

INSTANTIATE_TEST_SUITE_P(
    Compressions, OuterCompression,
    testing::Values(std::map<std::string, std::string>{{"compressor", "dense"}},
                    std::map<std::string, std::string>{
                        {"compressor", "dgc"}, {"density", "0.2"}, {"min_elements", "0"}},
                    std::map<std::string, std::string>{
                        {"compressor", "onebit"}, {"ef", "vanilla"}, {"min_elements", "0"}}));

TEST(OuterState, OfAnotherNumberOfRanksGoesOnFromTheAnchor) {
  std::vector<std::string> files(kRanks);
  TrainedValues(
      [&](Outer& outer, Model& model, int rank) {
        for (int step = 0; step < 7; ++step) {
          TakeLocalStep(model, step, rank);
          outer.AfterStep();
        }
        std::ostringstream out;
        outer.Save(out);
        files[static_cast<std::size_t>(rank)] = out.str();
      },
      Streaming({{"compressor", "dense"}}));
  std::vector<Values> values(2);
  RunLocal(2, [&](Engine& engine) {
    Model model(9);
    Outer outer(engine, model.Parameters(), Streaming({{"compressor", "dense"}}));
    std::vector<std::istringstream> streams(files.begin(), files.end());
    std::vector<std::istream*> former;
    for (std::istringstream& stream : streams) former.push_back(&stream);
    const Values before = model.Values();
    outer.Load(former);
    EXPECT_EQ(outer.steps(), 7);
    EXPECT_NE(model.Values(), before);
    values[static_cast<std::size_t>(engine.rank())] = model.Values();
  });
  EXPECT_EQ(values[0], values[1]);
}

// The others are told, and do not wait.
TEST(OuterState, ThatIsDamagedOrOfAnotherModelOnOneRankIsRefusedOnAll) {
  std::string of_another, own;
  RunLocal(1, [&](Engine& engine) {
    Model model;
    std::vector<Parameter> parameters = model.Parameters();
    std::ostringstream out;
    Outer(engine, parameters, Every4(0)).Save(out);
    own = out.str();
    parameters.pop_back();
    OuterOptions options = Every4(0);
    options.name = "another";
    std::ostringstream other;
    Outer(engine, parameters, options).Save(other);
    of_another = other.str();
  });
  for (const std::string& wrong : {std::string("no saved state"), of_another}) {
    RunLocal(2, [&](Engine& engine) {
      Model model;
      Outer outer(engine, model.Parameters(), Every4(0));
      std::istringstream file(engine.rank() == 0 ? wrong : own);
      std::istream* const streams[] = {&file};
      EXPECT_THROW(outer.Load(streams), Error);
    });
  }
}

TEST(OuterOptions, WithoutMeaningAreNamed) {
  struct Wrong {
    OuterOptions options;
    const char* named;
  };
  const auto with = [](auto change) {
    OuterOptions options = Every4(0);
    change(options);
    return options;
  };
  const std::vector<Wrong> all = {
      {with([](OuterOptions& options) { options.every = 0; }), "every=0"},
      {with([](OuterOptions& options) { options.fragments = 5; }), "fragments=5"},
      {with([](OuterOptions& options) { options.overlap = 4; }), "overlap=4"},
      {with([](OuterOptions& options) { options.learning_rate = 0; }), "learning_rate"},
      {with([](OuterOptions& options) { options.momentum = 1; }), "momentum"},
      {with([](OuterOptions& options) { options.compression["compressor"] = "mine"; }), "mine"},
  };
  for (const Wrong& wrong : all) {
    RunLocal(1, [&](Engine& engine) {
      Model model;
      try {
        const Outer outer(engine, model.Parameters(), wrong.options);
        ADD_FAILURE() << "no error names " << wrong.named;
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(wrong.named));
      }
    });
  }
}

}  // namespace
}  // namespace weir::outer_test
