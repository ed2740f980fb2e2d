#include "common/libraries/library_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/paths.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string CopyOfALibrary(const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::filesystem::copy_file(BuildPath("lib/libweir_test_old_nccl.so"), path,
                             std::filesystem::copy_options::overwrite_existing);
  return path;
}

TEST(LibraryFile, ThatIsWholeIsNotDamaged) {
  EXPECT_EQ(DamageOf(CopyOfALibrary("weir_whole.so")), "");
}

TEST(LibraryFile, ThatIsCutOffSaysWhere) {
  const std::string path = CopyOfALibrary("weir_cut_off.so");
  const std::uintmax_t whole = std::filesystem::file_size(path);
  for (const std::uintmax_t left : {whole - 1, whole / 2, std::uintmax_t{64}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_THAT(DamageOf(path),
                AllOf(HasSubstr(path), HasSubstr("after " + std::to_string(left) + " bytes")));
  }
}

TEST(LibraryFile, ThatIsNoFileIsRefused) {
  const std::string pipe = testing::TempDir() + "weir_pipe.so";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_THAT(DamageOf(pipe), HasSubstr("is not a file"));
  EXPECT_THAT(DamageOf(testing::TempDir()), HasSubstr("is not a file"));
  std::filesystem::remove(pipe);
}

TEST(LibraryFile, ThatIsNoLibraryIsLeftToTheLoader) {
  EXPECT_EQ(DamageOf("/no/such/library.so"), "");
  EXPECT_EQ(DamageOf(TreePath("docs/reference/settings.md")), "");
}

TEST(LibraryFile, ThatIsOfAnotherClassIsLeftToTheLoader) {
  const std::string path = CopyOfALibrary("weir_32_bits.so");
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(EI_CLASS).put(ELFCLASS32);
  file.seekp(40).write("\xff\xff\xff\xff", 4);  // 64-bit files: place of sections.
  file.close();
  EXPECT_EQ(DamageOf(path), "");
}

}  // namespace
}  // namespace weir
