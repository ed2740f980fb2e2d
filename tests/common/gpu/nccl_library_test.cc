#include "common/gpu/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace weir {
namespace {

const std::string kOldNccl = BuildPath("lib/libweir_test_old_nccl.so");

using testing::AllOf;
using testing::HasSubstr;

TEST(NcclLibrary, ThatIsNotThereIsNamed) {
  const NcclLibrary library = NcclLibrary::Load("/no/such/libnccl.so.2");
  EXPECT_EQ(library.version(), 0);
  EXPECT_THAT(library.trouble(), HasSubstr("/no/such/libnccl.so.2"));
  EXPECT_EQ(library.Find("ncclGetVersion"), nullptr);
}

TEST(NcclLibrary, ThatIsNoFileIsNotLoaded) {
  EXPECT_THAT(NcclLibrary::Load(testing::TempDir()).trouble(), HasSubstr("is not a file"));
}

TEST(NcclLibrary, ThatIsTooOldSaysWhatIsNeeded) {
  const NcclLibrary library = NcclLibrary::Load(kOldNccl);
  EXPECT_EQ(library.version(), 0);
  EXPECT_THAT(library.trouble(), AllOf(HasSubstr(kOldNccl), HasSubstr("is NCCL 2.17.5"),
                                       HasSubstr("2.18.0 or newer is needed")));
}

TEST(NcclLibrary, ThatIsAnotherLibraryIsRefused) {
  const NcclLibrary library = NcclLibrary::Load(BuildPath("lib/libweir_test_old_gpu_library.so"));
  EXPECT_EQ(library.version(), 0);
  EXPECT_THAT(library.trouble(), HasSubstr("is not NCCL"));
}

}  // namespace
}  // namespace weir
