#include "common/gpu/gpu_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/paths.h"

namespace weir {
namespace {

const std::string kOldLibrary = BuildPath("lib/libweir_test_old_gpu_library.so");

using testing::AllOf;
using testing::HasSubstr;

TEST(GpuLibrary, ThatIsNotThereIsNamedWithWhatBuildsIt) {
  const GpuLibrary library = GpuLibrary::Load(testing::TempDir() + "no/libweir_cuda.so");
  EXPECT_EQ(library.api(), nullptr);
  EXPECT_THAT(library.trouble(),
              AllOf(HasSubstr("no/libweir_cuda.so"), HasSubstr("WEIR_GPU_LIBRARY")));
  const GpuSupport support = FindGpuSupport(library);
  EXPECT_FALSE(support.usable);
  EXPECT_EQ(support.text, library.trouble());
}

TEST(GpuLibrary, ThatIsNoLibraryIsNotUsed) {
  const std::string path = testing::TempDir() + "libweir_no_library.so";
  std::ofstream(path) << "text";
  const GpuLibrary library = GpuLibrary::Load(path);
  EXPECT_EQ(library.api(), nullptr);
  EXPECT_THAT(library.trouble(), HasSubstr(path));
}

TEST(GpuLibrary, ThatIsCutOffIsNotLoaded) {
  const std::string path = testing::TempDir() + "libweir_cut_off.so";
  std::filesystem::copy_file(kOldLibrary, path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(path, 4096);
  EXPECT_THAT(GpuLibrary::Load(path).trouble(), HasSubstr("is cut off after 4096 bytes"));
}

TEST(GpuLibrary, OfAnotherVersionIsNotUsed) {
  // One without the entry, too: any other library.
  for (const auto& path : {kOldLibrary, std::string("/proc/self/exe")}) {
    const GpuLibrary library = GpuLibrary::Load(path);
    EXPECT_EQ(library.api(), nullptr) << path;
    EXPECT_NE(library.trouble(), "") << path;
  }
  EXPECT_THAT(GpuLibrary::Load(kOldLibrary).trouble(), HasSubstr("another version"));
}

/// A machine with two GPUs, or none.
GpuApi With(int (*count)(std::string&)) {
  return {.version = GpuApi::kVersion, .count_devices = count, .describe_device = [](int device) {
            return "GPU " + std::to_string(device);
          }};
}

TEST(GpuSupport, NamesTheDevicesOrSaysWhyThereAreNone) {
  const GpuApi two = With([](std::string&) { return 2; });
  const GpuApi none = With([](std::string& trouble) {
    trouble = "no driver";
    return 0;
  });
  EXPECT_TRUE(FindGpuSupport(two).usable);
  EXPECT_EQ(FindGpuSupport(two).text, "GPU 0; GPU 1");
  EXPECT_FALSE(FindGpuSupport(none).usable);
  EXPECT_EQ(FindGpuSupport(none).text, "no driver");
}

}  // namespace
}  // namespace weir
