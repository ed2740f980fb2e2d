#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/compression/options/compression_reference.h"
#include "tests/paths.h"

namespace weir {
namespace {

TEST(CompressionReference, ThePageIsWhatTheCompressorsDeclare) {
  std::ifstream file(TreePath("docs/reference/compression.md"));
  std::stringstream page;
  page << file.rdbuf();
  const std::string expected = CompressionReference(ListCompressors());
  if (page.str() == expected) return;
  std::ofstream("compression.md") << expected;
  FAIL() << TreePath("docs/reference/compression.md")
         << " is out of date; the new text is in ./compression.md, copy it there";
}

}  // namespace
}  // namespace weir
