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
  const std::string written = testing::TempDir() + "compression.md";
  std::ofstream(written) << expected;
  FAIL() << TreePath("docs/reference/compression.md") << " is out of date; the new text is in "
         << written << ", copy it there";
}

}  // namespace
}  // namespace weir
