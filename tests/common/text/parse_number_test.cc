#include "common/text/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("-42"), -42);
  EXPECT_EQ(ParseNumber<double>("0.5e-3"), 0.5e-3);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "4(x2)", "one"}) {
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseNumber, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace weir
