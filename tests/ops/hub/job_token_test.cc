#include "ops/hub/job_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "tests/temporary_folder.h"
#include "weir/error.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class JobTokenTest : public testing::Test {
 protected:
  JobTokenTest() { setenv("HOME", folder_.path().c_str(), 1); }
  std::string Write(const std::string& text, fs::perms mode = fs::perms::owner_read) {
    const std::string file = folder_.path() / "given";
    std::ofstream(file) << text;
    fs::permissions(file, mode);
    return file;
  }

  TemporaryFolder folder_;
};

TEST_F(JobTokenTest, TheSettingComesFirstThenTheFile) {
  const std::string file = Write("from-file\n");
  EXPECT_EQ(JobToken("given", file), "given");
  EXPECT_EQ(JobToken("", file), "from-file");
}

TEST_F(JobTokenTest, TheUsersOwnIsMadeOnceForAllRanks) {
  std::vector<std::future<std::string>> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    ranks.push_back(std::async(std::launch::async, [] { return JobToken("", ""); }));
  }
  const std::string token = JobToken("", "");
  EXPECT_EQ(token.size(), 32U);
  for (auto& rank : ranks) EXPECT_EQ(rank.get(), token);
  const fs::path file = folder_.path() / ".weir/token";
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1)
      << "drafts are removed";
}

TEST_F(JobTokenTest, AFileThatOthersMayReadIsRefused) {
  const std::string file = Write("x", fs::perms::owner_read | fs::perms::group_read);
  EXPECT_THAT([&] { JobToken("", file); }, ThrowsMessage<InvalidArgument>(HasSubstr("chmod 600")));
}

TEST_F(JobTokenTest, ABadFileIsNamed) {
  EXPECT_THAT([] { JobToken("", "/nowhere/token"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("/nowhere/token: No such file")));
  const std::string file = Write("\n");
  EXPECT_THAT([&] { JobToken("", file); }, ThrowsMessage<InvalidArgument>(HasSubstr("is empty")));
}

TEST_F(JobTokenTest, WithoutAHomeItSaysWhatToSet) {
  unsetenv("HOME");
  EXPECT_THAT([] { JobToken("", ""); }, ThrowsMessage<InvalidArgument>(HasSubstr("WEIR_TOKEN")));
}

}  // namespace
}  // namespace weir
