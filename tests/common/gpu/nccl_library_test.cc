#include "common/gpu/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

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
  const NcclLibrary library = NcclLibrary::Load(WEIR_TEST_OLD_NCCL);
  EXPECT_EQ(library.version(), 0);
  EXPECT_THAT(library.trouble(), AllOf(HasSubstr(WEIR_TEST_OLD_NCCL), HasSubstr("is NCCL 2.17.5"),
                                       HasSubstr("2.18.0 or newer is needed")));
}

TEST(NcclLibrary, ThatIsAnotherLibraryIsRefused) {
  const NcclLibrary library = NcclLibrary::Load(WEIR_TEST_OLD_GPU_LIBRARY);
  EXPECT_EQ(library.version(), 0);
  EXPECT_THAT(library.trouble(), HasSubstr("is not NCCL"));
}

}  // namespace
}  // namespace weir
