#include "coordinator/rank/reach_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ops/local/transport.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReachProbeTest : public testing::Test {
 protected:
  ReachProbeTest() {
    for (int rank = 0; rank < 3; ++rank) {
      endpoints_.push_back(network_.Endpoint(rank));
      probes_.push_back(std::make_unique<ReachProbe>(*endpoints_.back()));
    }
  }
  ~ReachProbeTest() override {
    for (const auto& probe : probes_) probe->Cancel();
  }
  void Poll() {
    for (int i = 0; i < 3; ++i) {
      for (const auto& probe : probes_) probe->Poll();
    }
  }

  local::Network network_{3};
  std::vector<std::unique_ptr<Transport>> endpoints_;
  std::vector<std::unique_ptr<ReachProbe>> probes_;
};

TEST_F(ReachProbeTest, WhoAsksIsHeard) {
  for (const auto& probe : probes_) probe->Start();
  Poll();
  for (const auto& probe : probes_) {
    EXPECT_THAT(probe->Unheard(), IsEmpty());
    EXPECT_EQ(probe->sent(), 2);
    EXPECT_EQ(probe->received(), 2);
  }
}

TEST_F(ReachProbeTest, WhoDoesNotAskIsNotHeard) {
  probes_[0]->Start();
  probes_[2]->Start();
  Poll();
  EXPECT_THAT(probes_[0]->Unheard(), ElementsAre(1));
  EXPECT_THAT(probes_[1]->Unheard(), IsEmpty());
  EXPECT_THAT(probes_[2]->Unheard(), ElementsAre(1));
}

TEST_F(ReachProbeTest, TheNextOneBeginsAnew) {
  for (int i = 0; i < 2; ++i) {
    for (const auto& probe : probes_) probe->Start();
    Poll();
    for (const auto& probe : probes_) probe->Stop();
  }
  EXPECT_EQ(probes_[1]->received(), 4);
  probes_[1]->Start();
  Poll();
  EXPECT_THAT(probes_[1]->Unheard(), ElementsAre(0, 2));
}

}  // namespace
}  // namespace weir
