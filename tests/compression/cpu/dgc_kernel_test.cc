#include "compression/cpu/dgc_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weir::cpu {
namespace {

/// Zeros that cost address space only, until they are written to.
class UntouchedZeros {
 public:
  explicit UntouchedZeros(std::size_t n) : bytes_(n * sizeof(float)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ != MAP_FAILED) madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~UntouchedZeros() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  UntouchedZeros(const UntouchedZeros&) = delete;
  UntouchedZeros& operator=(const UntouchedZeros&) = delete;
  bool mapped() const { return data_ != MAP_FAILED; }
  float* data() { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

TEST(DgcKernel, IndicesReachTheEndOfTheLargestTensor) {
  const std::size_t n = UINT32_MAX;
  UntouchedZeros v(n);
  if (!v.mapped()) GTEST_SKIP() << "no room for 16 GiB of addresses";
  const std::uint32_t wanted[] = {0, 0x7fffffffu, 0x80000000u, UINT32_MAX - 64, UINT32_MAX - 1};
  for (const std::uint32_t index : wanted) v.data()[index] = -1.0f;
  CandidateList candidates;
  candidates.Reset(5, n, 1.0f);
  Collect({.v = v.data()}, 0, n, candidates);
  EXPECT_THAT(candidates.indices(), testing::ElementsAreArray(wanted));
  EXPECT_THAT(candidates.values(), testing::Each(-1.0f));
}

TEST(CandidateList, KeepsTheBestAndTheEarliestWhenItIsFull) {
  CandidateList list;
  const std::size_t range = 100000;
  list.Reset(3, range, 0.0f);
  std::size_t dropped = 0;
  for (std::uint32_t i = 0; i < range; ++i) {
    const float value = i % 20000 == 7 ? -2.0f : 1.0f;
    list.MakeRoom();
    if (value * value < list.threshold() * list.threshold()) {
      ++dropped;
    } else {
      list.Append(i, value);
    }
  }
  EXPECT_GT(dropped, range / 2);
  // Five entries of magnitude 2; the first three had to be kept.
  ASSERT_GE(list.size(), 3u);
  std::vector<std::uint32_t> twos;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list.values()[i] == -2.0f) twos.push_back(list.indices()[i]);
  }
  ASSERT_GE(twos.size(), 3u);
  EXPECT_THAT(std::span(twos).first(3), testing::ElementsAre(7, 20007, 40007));
}

}  // namespace
}  // namespace weir::cpu
