#include "coordinator/plan/form_tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/check.h"

namespace weir {
namespace {

constexpr std::size_t kMoreSteps = 5;  // In the second round, of what may be the best.
constexpr std::size_t kFinalists = 3;  // As many of those at most, so that searches stay short.
constexpr double kClose = 1.25;        // What may be the best takes at most so much longer.
constexpr double kGivenUp = 2.0;       // A step so much longer than the best ends a try.
constexpr double kHopeless = 5.0;      // One such step is enough.
constexpr double kDoubt = 0.7;         // Part of its predicted time that a plan takes at least.
constexpr double kAsGood = 1.02;       // Takes so much longer, and counts as equal.
constexpr double kStepDown = 0.999;    // Part that a change of one bucket must leave.
constexpr int kMostSweeps = 6;
constexpr std::size_t kMostMixed = 128;  // Buckets.
constexpr double kWorthTrying = 0.97;    // Part of the best that must be in reach.
constexpr std::size_t kWatched = 20;     // Steps that must differ from what was expected.
constexpr double kOff = 0.15;
constexpr double kNetworkOff = 0.3;  // The network's share is noisier.
constexpr double kManyTimes = 2.0;
constexpr std::size_t kPatience = 40;
constexpr std::size_t kMostPatience = 5000;

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double NetworkSecondsOf(const StepObservation& step) {
  double sum = 0.0;
  for (const BucketObservation& bucket : step.buckets) {
    sum += bucket.exchange_end - bucket.exchange_begin;
  }
  return sum;
}

bool IsOff(double now, double expected, double most) {
  return std::abs(now - expected) > most * expected;
}

bool IsManyTimes(double now, double expected) {
  return now > kManyTimes * expected || expected > kManyTimes * now;
}

void Push(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kWatched) values.pop_front();
}

}  // namespace

double FormTuner::Tried::median() const {
  return seconds.empty() ? std::numeric_limits<double>::infinity() : MedianOf(seconds);
}

FormTuner::FormTuner(std::vector<std::vector<BucketForm>> allowed, const SearchEffort& effort)
    : allowed_(std::move(allowed)),
      effort_(effort),
      warmup_left_(effort.warmup_steps),
      times_(allowed_.size()),
      wanted_(allowed_.size(), BucketForm::kCompressed),
      patience_(kPatience) {
  BeginSearch();
}

void FormTuner::BeginSearch() {
  settled_ = false;
  wants_network_ = true;
  before_ = wanted_;
  round_ = 0;
  skipped_.clear();
  for (const Tried& one : tried_) {
    if (one.why_not == WhyNot::kSeenBefore) skipped_.push_back(one.plan);
  }
  tried_.clear();
  Consider(wanted_);
  for (const BucketForm form : kBucketForms) {
    if (form >= BucketForm::kCompressed) Consider(AllIn(form));
  }
  trying_ = 0;
  fresh_ = searches_ == 0;
}

StepPlan FormTuner::AllIn(BucketForm form) const {
  StepPlan plan;
  for (const auto& forms : allowed_) {
    const bool has = std::ranges::find(forms, form) != forms.end();
    plan.push_back(has ? form : BucketForm::kCompressed);
  }
  return plan;
}

void FormTuner::Consider(StepPlan plan) {
  const bool known =
      std::ranges::any_of(tried_, [&](const Tried& one) { return one.plan == plan; });
  if (!known) tried_.push_back({.plan = std::move(plan), .seconds = {}, .passes = {}});
}

double FormTuner::best() const {
  double best = std::numeric_limits<double>::infinity();
  for (const Tried& one : tried_) best = std::min(best, one.median());
  return best;
}

void FormTuner::SetNetwork(const HostLink& network) {
  times_.SetNetwork(network);
  wants_network_ = false;
}

void FormTuner::Observe(const StepObservation& step) {
  if (step.plan != wanted_) return times_.Learn(step);
  if (warmup_left_ > 0) {
    --warmup_left_;
    return;
  }
  const bool fresh = std::exchange(fresh_, false);
  // The first step makes buffers, and meets cold memory.
  if (fresh && step.seconds < kHopeless * best()) return;
  times_.Learn(step);
  if (wants_network_) return;
  if (settled_) return Watch(step);
  Tried& now = tried_[trying_];
  now.seconds.push_back(step.seconds);
  now.passes.push_back(PassTimesOf(step));
  const double best_of_all = best();
  const auto slow = std::ranges::count_if(
      now.seconds, [&](double seconds) { return seconds > kGivenUp * best_of_all; });
  // One step may have met something else that the machine did.
  const bool given_up = slow >= 2 || step.seconds > kHopeless * best_of_all;
  if (given_up) now.hopeless = true;
  if (given_up || now.seconds.size() >= StepsWanted()) Advance();
}

std::size_t FormTuner::StepsWanted() const {
  return effort_.first_steps + (round_ == 0 ? 0 : kMoreSteps);
}

std::size_t FormTuner::CountTries() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tried_, [](const Tried& one) { return !one.seconds.empty(); }));
}

void FormTuner::Judge(Tried& tried) const {
  if (tried.hopeless || !tried.seconds.empty()) return;
  tried.why_not.reset();
  // What an earlier search has seen need not be tried again to be known as slower, but for every
  // second search: the machine may have been busy.
  const auto step = times_.Predict(tried.plan);
  const bool skipped = std::ranges::find(skipped_, tried.plan) != skipped_.end();
  if (kDoubt * times_.NetworkSecondsOf(tried.plan) > kGivenUp * best()) {
    tried.why_not = WhyNot::kBytes;
  } else if (!skipped && step && kDoubt * *step > best()) {
    tried.why_not = WhyNot::kSeenBefore;
  }
  tried.hopeless = tried.why_not.has_value();
  if (round_ == 0 && CountTries() >= effort_.most_tries && !tried.hopeless) {
    tried.why_not = WhyNot::kEnoughTried;  // Of this round.
  }
}

// Divided, or by way of servers, the same payloads travel in another way, and each rank merges a
// part of them. That saves at most what sending and merging take.
bool FormTuner::MayGainByRoute() const {
  const StepPlan compressed(allowed_.size(), BucketForm::kCompressed);
  const auto whole = std::ranges::find(tried_, compressed, &Tried::plan);
  WEIR_CHECK(whole != tried_.end());
  const double saved = times_.NetworkSecondsOf(compressed) + times_.DecodeSecondsOf(compressed);
  return whole->median() - saved < kWorthTrying * best();
}

void FormTuner::Advance() {
  for (++trying_; trying_ < tried_.size(); ++trying_) {
    Tried& next = tried_[trying_];
    Judge(next);
    if (next.hopeless || next.why_not || next.seconds.size() >= StepsWanted()) continue;
    fresh_ = next.plan != wanted_;
    wanted_ = next.plan;
    return;
  }
  EndRound();
}

void FormTuner::EndRound() {
  if (round_ == 1) return Settle();
  const std::size_t known = tried_.size();
  if (MayGainByRoute()) {
    Consider(AllIn(BucketForm::kSplit));
    Consider(AllIn(BucketForm::kServed));
  }
  if (tried_.size() > known) {
    trying_ = known - 1;
    return Advance();
  }
  round_ = 1;
  StepPlan mixture = Mixture();
  std::vector<double> medians;
  for (const Tried& one : tried_) medians.push_back(one.median());
  std::ranges::sort(medians);
  const double most = std::min(kClose * best(), medians[std::min(kFinalists, medians.size()) - 1]);
  std::size_t close = 0;
  for (Tried& one : tried_) {
    if (one.median() > most) one.hopeless = true;
    close += one.hopeless ? 0 : 1;
  }
  const std::size_t before = tried_.size();
  if (!mixture.empty()) Consider(std::move(mixture));
  if (close < 2 && tried_.size() == before) return Settle();
  // The one that is running goes on first.
  std::ranges::stable_partition(tried_, [&](const Tried& one) { return one.plan == wanted_; });
  trying_ = static_cast<std::size_t>(-1);
  Advance();
}

// From each uniform plan, because a change of one bucket may help the one and not the other. The
// largest buckets first: they decide most, and what they leave idle is there for the others.
StepPlan FormTuner::Mixture() const {
  if (allowed_.size() > kMostMixed) return {};  // One of so many buckets decides nothing.
  const auto alone = times_.Predict(std::ranges::min_element(tried_, {}, &Tried::median)->plan);
  if (!alone) return {};
  std::vector<std::size_t> order(allowed_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t b) {
    StepPlan one(allowed_.size(), BucketForm::kCompressed);
    one[b] = BucketForm::kDense;
    return times_.BytesOf(one);
  });
  double least = kWorthTrying * *alone;
  StepPlan best;
  for (const Tried& one : tried_) {
    StepPlan plan = one.plan;
    double seconds = times_.Predict(plan).value_or(std::numeric_limits<double>::infinity());
    bool better = true;
    for (int sweep = 0; better && sweep < kMostSweeps; ++sweep) {
      better = false;
      for (const std::size_t b : order) {
        for (const BucketForm form : allowed_[b]) {
          if (form == plan[b]) continue;
          const BucketForm before = std::exchange(plan[b], form);
          const auto changed = times_.Predict(plan);
          if (changed && *changed < kStepDown * seconds) {
            seconds = *changed;
            better = true;
          } else {
            plan[b] = before;
          }
        }
      }
    }
    if (seconds >= least) continue;
    least = seconds;
    best = std::move(plan);
  }
  return best;
}

double FormTuner::ExactnessOf(const StepPlan& plan) const {
  double sum = 0.0;
  for (std::size_t b = 0; b < plan.size(); ++b) {
    sum += static_cast<double>(std::ranges::find(allowed_[b], plan[b]) - allowed_[b].begin());
  }
  return sum;
}

void FormTuner::EndSearch() {
  if (settled_) return;
  wants_network_ = false;
  if (CountTries() > 0) return Settle();
  wanted_ = before_;
  settled_ = true;
  since_ = 0;
}

void FormTuner::Settle() {
  const double most = kAsGood * best();
  const Tried* chosen = nullptr;
  for (const Tried& one : tried_) {
    if (one.median() > most) continue;
    // Of plans that take as long, the one that changes least of what is trained.
    if (chosen == nullptr || ExactnessOf(one.plan) > ExactnessOf(chosen->plan)) chosen = &one;
  }
  WEIR_CHECK(chosen != nullptr);
  const auto before = std::ranges::find(tried_, before_, &Tried::plan);
  const bool changed =
      searches_ == 0 || before == tried_.end() || before->median() > kAsGood * chosen->median();
  fresh_ = chosen->plan != wanted_;
  wanted_ = chosen->plan;
  patience_ = changed ? kPatience : std::min(2 * patience_, kMostPatience);
  settled_ = true;
  ++searches_;
  since_ = 0;
  second_ = std::numeric_limits<double>::infinity();
  for (const Tried& one : tried_) {
    if (&one != chosen) second_ = std::min(second_, one.median());
  }
  seconds_.clear();
  network_.clear();
}

void FormTuner::Watch(const StepObservation& step) {
  ++since_;
  Push(seconds_, step.seconds);
  Push(network_, NetworkSecondsOf(step));
  if (since_ < kWatched) return;
  const double seconds = MedianOf({seconds_.begin(), seconds_.end()});
  const double network = MedianOf({network_.begin(), network_.end()});
  const double bytes = times_.BytesOf(StepPlan(step.plan.size(), BucketForm::kCompressed));
  if (since_ == kWatched) {
    expected_ = seconds;
    expected_network_ = network;
    expected_bytes_ = bytes;
  }
  if (since_ < kPatience) return;
  const bool network_counts = std::max(network, expected_network_) > kOff * expected_;
  const bool other_link = network_counts && IsManyTimes(network, expected_network_);
  const bool differs = IsOff(seconds, expected_, kOff) || seconds > (1.0 + kOff) * second_ ||
                       (network_counts && IsOff(network, expected_network_, kNetworkOff)) ||
                       IsOff(bytes, expected_bytes_, 0.5);
  // Searches that changed nothing make the next one wait, but not for ever once the link is
  // another.
  if (other_link || (differs && since_ >= patience_)) BeginSearch();
}

}  // namespace weir
