#include "metrics/records/recorder.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

/// A record whose every field says the same number, so that a torn one is noticed.
StageRecord RecordOf(std::int64_t number) {
  return {.start_ns = number,
          .end_ns = number,
          .step = number,
          .bytes_in = static_cast<std::uint64_t>(number),
          .bytes_out = static_cast<std::uint64_t>(number),
          .bucket = static_cast<std::uint32_t>(number)};
}

bool IsWhole(const StageRecord& record) {
  return record.end_ns == record.start_ns && record.step == record.start_ns &&
         record.bytes_in == static_cast<std::uint64_t>(record.start_ns) &&
         record.bytes_out == record.bytes_in &&
         record.bucket == static_cast<std::uint32_t>(record.start_ns);
}

TEST(Recorder, ReadsBackInOrderFromWhereTheReaderStopped) {
  Recorder recorder(8);
  std::vector<StageRecord> out(2);
  EXPECT_EQ(recorder.Read(0, out).count, 0u);
  for (int i = 0; i < 3; ++i) recorder.Add(RecordOf(i));
  auto result = recorder.Read(0, out);
  EXPECT_EQ(result.count, 2u);
  EXPECT_EQ(out[1].start_ns, 1);
  result = recorder.Read(result.next, out);
  EXPECT_EQ(result.count, 1u);
  EXPECT_EQ(result.next, 3u);
  EXPECT_EQ(result.lost, 0u);
  EXPECT_EQ(out[0].start_ns, 2);
}

TEST(Recorder, ASlowReaderGetsTheNewestAndLearnsWhatItLost) {
  Recorder recorder(4);
  for (int i = 0; i < 10; ++i) recorder.Add(RecordOf(i));
  std::vector<StageRecord> out(16);
  const auto result = recorder.Read(1, out);
  EXPECT_EQ(result.lost, 5u);
  ASSERT_EQ(result.count, 4u);
  EXPECT_EQ(out[0].start_ns, 6);
  EXPECT_EQ(out[3].start_ns, 9);
}

TEST(Recorder, KeepsEveryField) {
  Recorder recorder(2);
  recorder.Add({.start_ns = 1,
                .end_ns = 2,
                .step = 3,
                .bytes_in = 4,
                .bytes_out = 5,
                .bucket = 6,
                .density = 0.5f,
                .threshold = 0.25f,
                .stage = Stage::kMerge,
                .ok = false});
  std::vector<StageRecord> out(1);
  ASSERT_EQ(recorder.Read(0, out).count, 1u);
  EXPECT_EQ(out[0].end_ns, 2);
  EXPECT_EQ(out[0].bytes_out, 5u);
  EXPECT_EQ(out[0].bucket, 6u);
  EXPECT_EQ(out[0].density, 0.5f);
  EXPECT_EQ(out[0].threshold, 0.25f);
  EXPECT_EQ(out[0].stage, Stage::kMerge);
  EXPECT_FALSE(out[0].ok);
}

// Several writers, one reader that keeps up when it can: each record is whole, each writer's
// records come in its own order, and what came and what was lost add up.
void RunWritersAndReader(std::size_t capacity, std::int64_t records_each) {
  constexpr int kWriters = 3;
  const auto total = static_cast<std::uint64_t>(kWriters * records_each);
  Recorder recorder(capacity);
  std::vector<std::jthread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&recorder, records_each, w] {
      for (std::int64_t i = 0; i < records_each; ++i) recorder.Add(RecordOf(w * records_each + i));
    });
  }
  std::vector<std::int64_t> last(kWriters, -1);
  std::vector<StageRecord> out(64);
  std::uint64_t next = 0;
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  bool writing = true;
  while (true) {
    const auto result = recorder.Read(next, out);
    next = result.next;
    lost += result.lost;
    seen += result.count;
    for (std::size_t i = 0; i < result.count; ++i) {
      ASSERT_TRUE(IsWhole(out[i])) << out[i].start_ns;
      std::int64_t& previous = last[static_cast<std::size_t>(out[i].start_ns / records_each)];
      ASSERT_GT(out[i].start_ns, previous);
      previous = out[i].start_ns;
    }
    if (result.count > 0 || result.lost > 0) continue;
    if (!writing) break;
    if (recorder.added() == total) {
      writers.clear();  // Joins: whatever will be written, is.
      writing = false;
    }
  }
  EXPECT_EQ(next, total);
  EXPECT_EQ(seen + lost, next);
  // For a writer that is suspended a reader waits half a turn of the ring.
  if (capacity / 2 >= next) {
    EXPECT_EQ(lost, 0u);
  }
}

TEST(Recorder, WritersAndAReaderTogetherTearAndLoseNothing) {
  RunWritersAndReader(1 << 17, 20'000);
}
TEST(Recorder, ATinyRingUnderManyWritersTearsNothing) { RunWritersAndReader(2, 300'000); }

}  // namespace
}  // namespace weir
