#include "launcher/output/line_assembler.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::launcher {
namespace {

TEST(LineAssembler, HoldsALineBackUntilItIsWhole) {
  LineAssembler lines;
  EXPECT_EQ(lines.Append("ab"), "");
  EXPECT_EQ(lines.Append("c\nd"), "abc\n");
  EXPECT_EQ(lines.Append("\n\ne"), "d\n\n");
  EXPECT_EQ(lines.Finish(), "e\n");
  EXPECT_EQ(lines.Finish(), "");
}

TEST(LineAssembler, ACarriageReturnEndsALineOfAProgressBar) {
  LineAssembler lines;
  EXPECT_EQ(lines.Append("10%\r"), "");
  EXPECT_EQ(lines.Append("20%\r30%"), "10%\r20%\r");
}

TEST(LineAssembler, ACarriageReturnBeforeANewlineEndsNothing) {
  LineAssembler lines;
  EXPECT_EQ(lines.Append("dos\r"), "");
  EXPECT_EQ(lines.Append("\nnext"), "dos\r\n");
}

TEST(LineAssembler, AnEndlessLineIsPassedOnInParts) {
  LineAssembler lines;
  EXPECT_EQ(lines.Append(std::string(LineAssembler::kMaxLine, 'x')), "");
  EXPECT_EQ(lines.Append("y").size(), LineAssembler::kMaxLine + 2);
}

TEST(LineAssembler, TheCutsOfTheStreamDoNotMatter) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "ab\r\n"[random() % 4];
    LineAssembler whole;
    std::string expected = whole.Append(text);
    expected += whole.Finish();
    LineAssembler cut;
    std::string actual;
    const std::string_view view = text;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + random() % 5;
      actual += cut.Append(view.substr(at, n));
      at += n;
    }
    actual += cut.Finish();
    EXPECT_EQ(actual, expected);
  }
}

TEST(PrefixLines, EveryLineGetsThePrefix) {
  EXPECT_EQ(PrefixLines("a\n\nb\r\nc\rd\n", "[3] "), "[3] a\n[3] \n[3] b\r\n[3] c\r[3] d\n");
  EXPECT_EQ(PrefixLines("", "[3] "), "");
}

}  // namespace
}  // namespace weir::launcher
