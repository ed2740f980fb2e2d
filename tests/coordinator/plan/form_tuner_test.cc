#include "coordinator/plan/form_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/plan/step_time.h"

namespace weir::form_tuner_test {
namespace {

const std::vector<BucketForm> kAll = {BucketForm::kCompressed, BucketForm::kInt8, BucketForm::kFp16,
                                      BucketForm::kDense};

/// A model on a network, and what its buckets take. Seconds and bytes.
struct World {
  int buckets = 8;
  double bucket_bytes = 12e6;
  double backprop = 0.1;
  double bytes_per_second = 12.5e6;
  double message = 0.001;
  double density = 0.001;
  ByForm<double> encode_rate = {1e9, 1e9, 1e9, 1.5e9, 2e9, 4e9};  ///< Bytes of fp32 a second.
  ByForm<double> decode_part = {0.3, 0.3, 0.3, 0.3, 0.3, 0.3};    ///< Of the time for encoding.
  double noise = 0.0;

  double BytesOf(BucketForm form) const {
    const double ring = 1.5 * bucket_bytes;
    if (form == BucketForm::kDense) return ring;
    if (form == BucketForm::kFp16) return ring / 2;
    if (form == BucketForm::kServed) return ring * density;
    return form == BucketForm::kInt8 ? ring / 4 : 3 * 1.5 * density * bucket_bytes;
  }
  std::vector<BucketTimes> TimesOf(const StepPlan& plan) const {
    std::vector<BucketTimes> times;
    for (std::size_t b = 0; b < plan.size(); ++b) {
      const double encode = bucket_bytes / encode_rate[static_cast<std::size_t>(plan[b])];
      times.push_back({.ready = backprop * static_cast<double>(b + 1) / buckets,
                       .encode = encode,
                       .exchange = message + BytesOf(plan[b]) / bytes_per_second,
                       .decode = decode_part[static_cast<std::size_t>(plan[b])] * encode});
    }
    return times;
  }
  double SecondsOf(const StepPlan& plan) const { return TimelineOf(TimesOf(plan)).end; }
  double Best() const {
    double best = std::numeric_limits<double>::infinity();
    for (const BucketForm form : kAll) {
      best = std::min(best, SecondsOf(StepPlan(static_cast<std::size_t>(buckets), form)));
    }
    return best;
  }
  StepObservation Step(const StepPlan& plan, std::mt19937& random) const {
    StepObservation step{.plan = plan, .seconds = SecondsOf(plan), .buckets = {}};
    double link = 0.0, worker = 0.0;
    for (const BucketTimes& times : TimesOf(plan)) {
      worker = std::max(worker, times.ready) + times.encode;
      const double begin = std::max(link, worker);
      link = begin + times.exchange;
      step.buckets.push_back({.ready = times.ready,
                              .encode = times.encode,
                              .exchange_begin = begin,
                              .exchange_end = link,
                              .decode = times.decode});
      for (const BucketForm form : kBucketForms) {
        step.buckets.back().bytes[static_cast<std::size_t>(form)] = BytesOf(form);
      }
    }
    step.seconds *= std::exp(std::normal_distribution(0.0, noise)(random));
    return step;
  }
};

/// Runs steps as a job does: a plan holds from the step after the next one. Returns their seconds.
double Train(FormTuner& tuner, const World& world, int steps, std::mt19937& random) {
  double seconds = 0.0;
  StepPlan now = tuner.plan();
  for (int step = 0; step < steps; ++step) {
    const StepPlan next = tuner.plan();
    if (tuner.wants_network()) tuner.SetNetwork({world.message, world.bytes_per_second});
    tuner.Observe(world.Step(now, random));
    seconds += world.SecondsOf(now);
    now = next;
  }
  return seconds;
}

FormTuner TunerOf(const World& world) {
  return FormTuner(std::vector(static_cast<std::size_t>(world.buckets), kAll));
}

World RandomWorld(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
  };
  World world;
  world.buckets = std::uniform_int_distribution(1, 12)(random);
  world.bucket_bytes = between(1e5, 5e7);
  world.backprop = between(0.001, 0.5);
  world.bytes_per_second = between(1.25e6, 1.25e10);
  world.message = between(1e-5, 1e-2);
  world.density = between(0.001, 0.25);
  for (double& rate : world.encode_rate) rate = between(1e8, 1e10);
  return world;
}

TEST(FormTuner, FindsWhatIsAsGoodAsTheBestFixedForm) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const World world = RandomWorld(random);
    FormTuner tuner = TunerOf(world);
    Train(tuner, world, 60, random);
    ASSERT_TRUE(tuner.settled());
    EXPECT_LE(world.SecondsOf(tuner.plan()), 1.03 * world.Best());
  }
}

TEST(FormTuner, IsNotFooledByNoise) {
  double ratio = 0.0;
  constexpr unsigned kSeeds = 500;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    World world = RandomWorld(random);
    world.noise = 0.05;
    FormTuner tuner = TunerOf(world);
    Train(tuner, world, 60, random);
    const double of_one = world.SecondsOf(tuner.plan()) / world.Best();
    EXPECT_LE(of_one, 1.15);
    ratio += of_one / kSeeds;
  }
  EXPECT_LE(ratio, 1.03);
}

/// The first steps of a program take longer, whatever their form, and must not count against it.
TEST(FormTuner, WaitsUntilStepsAreAlike) {
  std::mt19937 random(8);
  World world;
  world.encode_rate.fill(1e11);
  world.bytes_per_second = 250e6;
  FormTuner tuner = TunerOf(world);
  const double backprop = std::exchange(world.backprop, 10 * world.backprop);
  Train(tuner, world, 9, random);
  world.backprop = backprop;
  Train(tuner, world, 60, random);
  EXPECT_EQ(tuner.plan(), StepPlan(8, BucketForm::kCompressed));
}

/// At 10 Mb/s a dense step would take three minutes: nobody waits for that to learn of it.
TEST(FormTuner, DoesNotTryWhatIsHopeless) {
  std::mt19937 random(1);
  World world;
  world.bytes_per_second = 1.25e6;
  FormTuner tuner = TunerOf(world);
  const double seconds = Train(tuner, world, 100, random);
  EXPECT_LE(seconds, 1.05 * 100 * world.Best());
  EXPECT_EQ(tuner.plan(), StepPlan(8, BucketForm::kCompressed));
}

TEST(FormTuner, CostsLittleWhereEverythingMustBeTried) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const World world = RandomWorld(random);
    FormTuner tuner = TunerOf(world);
    // The first plan takes 13 steps, as nothing better is known; a slow one after it takes two.
    double tries = 11 * world.SecondsOf(tuner.plan());
    for (const BucketForm form : kAll)
      tries += 2 * world.SecondsOf(StepPlan(tuner.plan().size(), form));
    EXPECT_LE(Train(tuner, world, 2000, random), 1.03 * 2000 * world.Best() + tries);
  }
}

TEST(FormTuner, FollowsALinkThatChanges) {
  for (const double before : {12.5e6, 1.25e9}) {
    std::mt19937 random(2);
    World world;
    world.noise = 0.02;
    world.bytes_per_second = before;
    FormTuner tuner = TunerOf(world);
    Train(tuner, world, 150, random);
    ASSERT_LE(world.SecondsOf(tuner.plan()), 1.03 * world.Best());
    world.bytes_per_second = before < 1e8 ? 1.25e9 : 12.5e6;
    Train(tuner, world, 50, random);
    EXPECT_LE(world.SecondsOf(tuner.plan()), 1.03 * world.Best()) << "from " << before;
    EXPECT_TRUE(tuner.settled());
  }
}

TEST(FormTuner, DoesNotTryAgainWhatWasSeenToBeMuchSlower) {
  std::mt19937 random(1);
  World world{.bytes_per_second = 1.25e9};
  world.encode_rate = {1e8, 1e8, 1e10, 1e8, 1e8, 1e10};  // int8 and fp16 take ten times as long.
  FormTuner tuner = TunerOf(world);
  Train(tuner, world, 100, random);
  ASSERT_EQ(tuner.searches(), 1);
  const auto tries = [&](BucketForm form) {
    for (const FormTuner::Tried& one : tuner.tried()) {
      if (one.plan == StepPlan(8, form)) return one.seconds.size();
    }
    return std::size_t{0};
  };
  EXPECT_GT(tries(BucketForm::kInt8), 0U);
  world.density *= 4;
  Train(tuner, world, 60, random);
  ASSERT_EQ(tuner.searches(), 2);
  EXPECT_EQ(tries(BucketForm::kInt8), 0U);
  EXPECT_EQ(tries(BucketForm::kFp16), 0U);
  EXPECT_GT(tries(tuner.plan().front()), 0U);
  // It may have become faster.
  world.encode_rate = {1e8, 1e8, 1e8, 1e8, 1e10, 1e10};
  world.density *= 4;
  Train(tuner, world, 120, random);
  ASSERT_EQ(tuner.searches(), 3);
  EXPECT_GT(tries(BucketForm::kFp16), 0U);
}

TEST(FormTuner, FollowsADensityThatFalls) {
  std::mt19937 random(3);
  World world;
  world.density = 0.25;
  FormTuner tuner = TunerOf(world);
  Train(tuner, world, 100, random);
  EXPECT_NE(tuner.plan(), StepPlan(8, BucketForm::kCompressed));
  world.density = 0.001;
  Train(tuner, world, 100, random);
  EXPECT_EQ(tuner.plan(), StepPlan(8, BucketForm::kCompressed));
}

/// A machine that is busy now and then: the plan stays, and searches get rare.
TEST(FormTuner, DoesNotSearchForEver) {
  std::mt19937 random(4);
  World world;
  FormTuner tuner = TunerOf(world);
  for (int phase = 0; phase < 40; ++phase) {
    world.backprop = phase % 2 == 0 ? 0.1 : 2.0;
    Train(tuner, world, 50, random);
  }
  EXPECT_LE(tuner.searches(), 12);
}

TEST(FormTuner, FollowsALinkThatChangesAfterManySearches) {
  std::mt19937 random(4);
  World world{.bytes_per_second = 1.25e9, .encode_rate = {1e8, 1e8, 1e8, 1e8, 1e8, 4e9}};
  FormTuner tuner = TunerOf(world);
  // Until one that has changed nothing has just ended, so that the next one would be far away.
  for (int searches = 0; tuner.searches() < 8 || world.backprop > 1.0;) {
    Train(tuner, world, 50, random);
    searches = tuner.searches();
    world.backprop = world.backprop > 1.0 ? 0.1 : 2.0;
    for (int steps = 0; tuner.searches() == searches; steps += 50) {
      ASSERT_LT(steps, 10000);
      Train(tuner, world, 50, random);
    }
  }
  Train(tuner, world, 50, random);
  world.bytes_per_second /= 100.0;
  ASSERT_GT(world.SecondsOf(tuner.plan()), 2.0 * world.Best());
  Train(tuner, world, 100, random);
  EXPECT_LE(world.SecondsOf(tuner.plan()), 1.05 * world.Best());
}

TEST(FormTuner, ASearchThatIsEndedLeavesTheBestOfWhatWasTried) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const World world = RandomWorld(random);
    const StepPlan first = TunerOf(world).plan();
    for (int steps = 0; steps < 40; ++steps) {
      FormTuner tuner = TunerOf(world);
      Train(tuner, world, steps, random);
      tuner.EndSearch();
      ASSERT_TRUE(tuner.settled());
      EXPECT_LE(world.SecondsOf(tuner.plan()), 1.03 * world.SecondsOf(first)) << "step " << steps;
    }
  }
}

TEST(FormTuner, MixesFormsWhereThatIsFaster) {
  World world;
  world.backprop = 0.05;  // The worker is the bottleneck of one form, the network of the other.
  world.bytes_per_second = 150e6;
  world.encode_rate = {1e8, 1e8, 1e8, 1e8, 1e8, 1e10};
  std::mt19937 random(5);
  FormTuner tuner = TunerOf(world);
  Train(tuner, world, 80, random);
  EXPECT_LE(world.SecondsOf(tuner.plan()), 0.7 * world.Best());
}

TEST(FormTuner, OfEqualFormsTakesTheExactOne) {
  World world;
  world.bytes_per_second = 1.25e11;
  world.encode_rate = {1e11, 1e11, 1e11, 1e11, 1e11, 1e11};
  std::mt19937 random(6);
  FormTuner tuner = TunerOf(world);
  Train(tuner, world, 60, random);
  EXPECT_EQ(tuner.plan(), StepPlan(8, BucketForm::kDense));
}

TEST(FormTuner, DividesWhatTakesLongToMerge) {
  std::mt19937 random(1);
  World world{.bytes_per_second = 1.25e10, .message = 1e-5};
  world.decode_part[static_cast<std::size_t>(BucketForm::kCompressed)] = 2.0;
  const std::vector<BucketForm> forms = {BucketForm::kSplit, BucketForm::kCompressed};
  FormTuner tuner(std::vector(static_cast<std::size_t>(world.buckets), forms));
  Train(tuner, world, 60, random);
  ASSERT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.plan(), StepPlan(tuner.plan().size(), BucketForm::kSplit));
}

TEST(FormTuner, GoesByServersWhereThatSendsLess) {
  const std::vector<BucketForm> forms = {BucketForm::kServed, BucketForm::kSplit,
                                         BucketForm::kCompressed, BucketForm::kDense};
  for (const double bytes_per_second : {1.25e5, 1.25e10}) {
    std::mt19937 random(1);
    const World world{.bytes_per_second = bytes_per_second, .message = 1e-5};
    FormTuner tuner(std::vector(static_cast<std::size_t>(world.buckets), forms));
    Train(tuner, world, 80, random);
    ASSERT_TRUE(tuner.settled());
    const bool served = tuner.plan() == StepPlan(tuner.plan().size(), BucketForm::kServed);
    EXPECT_EQ(served, bytes_per_second < 1e6);
  }
}

TEST(FormTuner, KeepsToWhatIsAllowed) {
  World world;
  std::mt19937 random(7);
  FormTuner tuner({{BucketForm::kCompressed},
                   {BucketForm::kCompressed, BucketForm::kDense},
                   {BucketForm::kCompressed, BucketForm::kFp16}});
  world.buckets = 3;
  world.bytes_per_second = 1.25e10;
  world.encode_rate = {1e8, 1e8, 1e8, 1e8, 1e9, 1e10};
  for (int step = 0; step < 80; ++step) {
    Train(tuner, world, 1, random);
    ASSERT_EQ(tuner.plan()[0], BucketForm::kCompressed);
    ASSERT_NE(tuner.plan()[1], BucketForm::kFp16);
    ASSERT_NE(tuner.plan()[2], BucketForm::kDense);
  }
  EXPECT_EQ(FormsText(tuner.plan()), "cdh");
}

}  // namespace
}  // namespace weir::form_tuner_test
