#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/compression/options/compression_reference.h"

namespace weir {
namespace {

TEST(CompressionReference, ThePageIsWhatTheCompressorsDeclare) {
  std::ifstream file(WEIR_COMPRESSION_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const std::string expected = CompressionReference(ListCompressors());
  if (page.str() == expected) return;
  std::ofstream("compression.md") << expected;
  FAIL() << WEIR_COMPRESSION_PAGE
      " is out of date; the new text is in ./compression.md, copy it "
      "there";
}

}  // namespace
}  // namespace weir
