// The library as it was built, with the machine's GPU.
#include "common/gpu/gpu_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

TEST(BuiltGpuLibrary, IsFoundBesideTheEngineAndOfItsVersion) {
  const GpuLibrary library = GpuLibrary::Load();
  ASSERT_NE(library.api(), nullptr) << library.trouble();
  const GpuSupport support = FindGpuSupport(library);
  EXPECT_FALSE(support.text.empty());
}

TEST(BuiltGpuLibrary, DescribesItsDevices) {
  const GpuSupport support = FindGpuSupport(GpuLibrary::Load());
  if (!support.usable) GTEST_SKIP() << support.text;
  EXPECT_THAT(support.text, HasSubstr("compute capability"));
}

}  // namespace
}  // namespace weir
