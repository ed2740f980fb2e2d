#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "examples/01-byte-lm/progress.h"

namespace byte_lm {
namespace {

using testing::HasSubstr;

class FakeTrainer : public Trainer {
 public:
  explicit FakeTrainer(const ExchangeTotals& totals) : totals_(totals) {}
  int rank() const override { return 0; }
  int ranks() const override { return 4; }
  void BeginStep(float) override {}
  void SubmitGradient(int) override {}
  void ApplyStep() override {}
  double SumOverRanks(double value) override { return value; }
  ExchangeTotals totals() const override { return totals_; }

 private:
  ExchangeTotals totals_;
};

TEST(HumanBytes, PicksTheUnit) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(4232192), "4.2 MB");
  EXPECT_EQ(HumanBytes(999'999), "1.0 MB");
}

TEST(Progress, ALineASecondWithMeansSinceTheLastOne) {
  std::ostringstream out;
  Progress progress(&out, false, 100);
  const FakeTrainer trainer({.sent_bytes = 1000, .dense_bytes = 250'000, .density = 0.001});
  progress.Step(0, 6.0, 0.4, trainer);
  progress.Step(1, 5.0, 0.8, trainer);
  EXPECT_EQ(out.str(), "");
  progress.Step(2, 4.0, 1.2, trainer);
  EXPECT_EQ(out.str(),
            "step 3/100  loss 5.000  density 0.1 %  sent 1.0 kB of 250.0 kB dense (250.0x less)  "
            "2.5 steps/s\n");
  out.str("");
  progress.Step(3, 3.0, 2.2, trainer);
  EXPECT_THAT(out.str(), HasSubstr("loss 3.000"));
  EXPECT_THAT(out.str(), HasSubstr("1.0 steps/s"));
}

TEST(Progress, ATerminalsLineIsRedrawn) {
  std::ostringstream out;
  Progress progress(&out, true, 100);
  progress.Step(0, 6.0, 1.5, FakeTrainer({}));
  EXPECT_THAT(out.str(), testing::StartsWith("\r"));
  EXPECT_THAT(out.str(), testing::Not(HasSubstr("\n")));
  progress.Note("done");
  EXPECT_THAT(out.str(), testing::EndsWith("done\n"));
}

TEST(Progress, WithoutAStreamNothingIsPrinted) {
  Progress progress(nullptr, false, 100);
  progress.Step(0, 6.0, 1.5, FakeTrainer({}));
  progress.Note("done");
}

}  // namespace
}  // namespace byte_lm
