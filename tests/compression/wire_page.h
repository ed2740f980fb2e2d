#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>

namespace weir::test {

/// Bytes as docs/wire-format.md writes them: "57 45 49 52".
inline std::string Hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<int>(byte));
  }
  return text;
}

/// The page, every run of blanks and ends of lines as one blank.
inline std::string WireFormatPage() {
  std::ifstream file(WEIR_WIRE_FORMAT_PAGE);
  std::string text;
  for (std::string word; file >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The bytes are those of an example of the page: what another program was written by.
inline void ExpectAsOnThePage(std::span<const std::byte> bytes, const std::string& example) {
  EXPECT_EQ(Hex(bytes), example);
  const std::string page = WireFormatPage();
  EXPECT_TRUE(page.find("`" + example + "`") != std::string::npos ||
              page.find("``` " + example + " ```") != std::string::npos)
      << "docs/wire-format.md has no example " << example;
}

}  // namespace weir::test
