#include "launcher/supervisor/shared_memory_sweeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

class SharedMemorySweeperTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  UniqueFd Create(const std::string& name) const {
    return UniqueFd(open(Path(name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  }
  void Look() { sweeper_.Look(getpid(), now_); }

  const TemporaryFolder folder_;
  SharedMemorySweeper sweeper_{folder_.path().string()};
  SharedMemorySweeper::Clock::time_point now_ = SharedMemorySweeper::Clock::now();
};

TEST_F(SharedMemorySweeperTest, RemovesWhatTheSessionHadOpen) {
  {
    const UniqueFd file = Create("mpich_shm_1_0");
    Look();
  }
  EXPECT_FALSE(sweeper_.next_look());
  sweeper_.Sweep();
  EXPECT_FALSE(fs::exists(Path("mpich_shm_1_0")));
}

TEST_F(SharedMemorySweeperTest, RemovesWhatTheSessionHadMapped) {
  UniqueFd file = Create("mpich_shm_1_0");
  ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  file.reset();
  Look();
  munmap(memory, 4096);
  sweeper_.Sweep();
  EXPECT_FALSE(fs::exists(Path("mpich_shm_1_0")));
}

TEST_F(SharedMemorySweeperTest, LeavesFilesOfOtherJobs) {
  Create("mpich_shm_2_0");  // Nobody has it open.
  Look();
  EXPECT_TRUE(sweeper_.next_look());
  now_ += std::chrono::seconds(3);
  Look();
  EXPECT_FALSE(sweeper_.next_look());
  sweeper_.Sweep();
  EXPECT_TRUE(fs::exists(Path("mpich_shm_2_0")));
}

TEST_F(SharedMemorySweeperTest, LeavesFilesOfOtherKinds) {
  const UniqueFd file = Create("a-cache");
  Look();
  sweeper_.Sweep();
  EXPECT_TRUE(fs::exists(Path("a-cache")));
}

TEST_F(SharedMemorySweeperTest, LeavesAFileThatTookTheNameLater) {
  const UniqueFd first = Create("mpich_shm_1_0");
  Look();
  fs::remove(Path("mpich_shm_1_0"));
  const UniqueFd second = Create("mpich_shm_1_0");
  sweeper_.Sweep();
  EXPECT_TRUE(fs::exists(Path("mpich_shm_1_0")));
}

}  // namespace
}  // namespace weir::launcher
