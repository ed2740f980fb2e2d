#include "compression/dgc/dgc_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace weir {
namespace {

TEST(DgcMath, EntriesToSendRoundsAndSendsAtLeastOne) {
  EXPECT_EQ(EntriesToSend(0, 0.5), 0u);
  EXPECT_EQ(EntriesToSend(1, 1e-9), 1u);
  EXPECT_EQ(EntriesToSend(1000, 0.001), 1u);
  EXPECT_EQ(EntriesToSend(1499, 0.001), 1u);
  EXPECT_EQ(EntriesToSend(1500, 0.001), 2u);
  EXPECT_EQ(EntriesToSend(7, 1.0), 7u);
  EXPECT_EQ(EntriesToSend(UINT32_MAX, 1.0), std::size_t{UINT32_MAX});
  EXPECT_EQ(EntriesToSend(UINT32_MAX, 0.5), std::size_t{1} << 31);
}

TEST(DgcMath, KeysOrderByMagnitudeWithNanOnTop) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(MagnitudeKey(-0.0f), 0u);
  EXPECT_EQ(MagnitudeKey(-2.0f), MagnitudeKey(2.0f));
  EXPECT_LT(MagnitudeKey(std::numeric_limits<float>::denorm_min()),
            MagnitudeKey(-std::numeric_limits<float>::min()));
  EXPECT_LT(MagnitudeKey(std::numeric_limits<float>::max()), MagnitudeKey(-infinity));
  EXPECT_LT(MagnitudeKey(infinity), MagnitudeKey(std::numeric_limits<float>::quiet_NaN()));
}

TEST(DgcMath, MomentumRecursions) {
  float u = 4.0f;
  EXPECT_EQ(AdvanceMomentum(Momentum::kNone, 0.5f, 1.0f, u), 1.0f);
  EXPECT_EQ(u, 4.0f);
  EXPECT_EQ(AdvanceMomentum(Momentum::kVanilla, 0.5f, 1.0f, u), 3.0f);
  EXPECT_EQ(u, 3.0f);
  EXPECT_EQ(AdvanceMomentum(Momentum::kNesterov, 0.5f, 1.0f, u), 3.0f);
  EXPECT_EQ(u, 2.0f);
}

}  // namespace
}  // namespace weir
