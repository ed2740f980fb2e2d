#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>

#include "tests/paths.h"

namespace weir::test {

/// Writes bytes as docs/wire-format.md does: "57 45 49 52".
inline std::string Hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<int>(byte));
  }
  return text;
}

/// Reads the page, with every run of blanks and line ends as one blank.
inline std::string WireFormatPage() {
  std::ifstream file(TreePath("docs/wire-format.md"));
  std::string text;
  for (std::string word; file >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Expects the bytes of an example of the page, which another program may have followed.
inline void ExpectAsOnThePage(std::span<const std::byte> bytes, const std::string& example) {
  EXPECT_EQ(Hex(bytes), example);
  const std::string page = WireFormatPage();
  EXPECT_TRUE(page.find("`" + example + "`") != std::string::npos ||
              page.find("``` " + example + " ```") != std::string::npos)
      << "docs/wire-format.md has no example " << example;
}

}  // namespace weir::test
