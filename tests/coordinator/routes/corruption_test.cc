// Frames damaged on their way: every rank ends with Corrupt, which names the bucket and the sender,
// and nobody gets part of a result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compression/wire/frame.h"
#include "coordinator/engine/local_job.h"
#include "coordinator/work/operation_numbers.h"
#include "tests/ops/transport/faulty_transport.h"

namespace weir::corruption_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kRanks = 3;
constexpr int kSender = 1;
constexpr int kVictim = 2;
constexpr float kUntouched = -1.0f;  // No update is negative here.

bool IsFrame(Tag tag, std::span<const std::byte> data) {
  return tag.operation >= kFirstExchange && data.size() > kFrameHeaderBytes &&
         std::memcmp(data.data(), "WEIR", 4) == 0;
}

/// Damages the frame of that number, from 1, that the sender sends to the victim.
FaultyTransport::Rule DamageFrame(int number, FaultyTransport::Damage damage,
                                  std::size_t from_end = 0) {
  return [=, frames = 0](int peer, Tag tag, std::span<const std::byte> data) mutable {
    FaultyTransport::Damage result = damage;
    if (from_end != 0) result.position = data.size() - from_end;
    const bool hit = peer == kVictim && IsFrame(tag, data) && ++frames == number;
    return hit ? result : FaultyTransport::Damage{};
  };
}

FaultyTransport::Rule DamageThirdFrame(FaultyTransport::Damage damage, std::size_t from_end = 0) {
  return DamageFrame(3, damage, from_end);
}

std::string TypeAndText(const std::exception& error) {
  const bool corrupt = dynamic_cast<const Corrupt*>(&error) != nullptr;
  return std::string(corrupt ? "Corrupt: " : "not Corrupt: ") + error.what();
}

/// Steps until one fails. Returns the failure.
std::string TrainUntilItEnds(Engine& engine, const std::map<std::string, std::string>& way) {
  const Shape shape{40, 40};
  // They outlive the group: where its end cuts a step short, a gradient may just be compressed.
  std::vector<float> gradient(1640);
  std::vector<float> update(1640);
  std::map<std::string, std::string> compression = {{"compressor", "dgc"}, {"density", "0.05"}};
  compression.insert(way.begin(), way.end());
  const auto group = engine.Register(
      {.name = "g",
       .tensors = {{.name = "w", .shape = shape}, {.name = "b", .shape = Shape{40}}},
       .compression = compression});
  for (int step = 0; step < 10; ++step) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = static_cast<float>((i * 31 + static_cast<std::size_t>(engine.rank())) % 53);
    }
    std::ranges::fill(update, kUntouched);
    try {
      group->BeginStep({});
      group->Submit(0, {gradient.data(), DType::kFloat32, shape},
                    {update.data(), DType::kFloat32, shape});
      group->Submit(1, {gradient.data() + 1600, DType::kFloat32, Shape{40}},
                    {update.data() + 1600, DType::kFloat32, Shape{40}});
      group->EndStep();
      group->WaitStep();
      EXPECT_EQ(std::ranges::count(update, kUntouched), 0);
    } catch (const std::exception& error) {
      const auto touched =
          update.size() - static_cast<std::size_t>(std::ranges::count(update, kUntouched));
      const bool whole = touched == update.size() && engine.rank() != kVictim;
      EXPECT_TRUE(touched == 0 || whole) << touched << " entries of a result";
      return TypeAndText(error);
    }
  }
  return "no error";
}

/// Errors of each rank of a job whose sender's messages go through `rule`.
std::vector<std::string> EndsWith(const FaultyTransport::Rule& rule,
                                  const std::map<std::string, std::string>& way = {}) {
  Settings settings;
  settings.log_level = LogLevel::kFatal;  // Their errors are expected here.
  LocalJob job(kRanks, [&](int rank, std::unique_ptr<Transport> direct) {
    if (rank == kSender) direct = std::make_unique<FaultyTransport>(std::move(direct), rule);
    return direct;
  });
  std::vector<std::string> ends(kRanks);
  job.Run(
      [&](Engine& engine) {
        ends[static_cast<std::size_t>(engine.rank())] = TrainUntilItEnds(engine, way);
      },
      settings);
  return ends;
}

void ExpectCorruptEverywhere(const FaultyTransport::Rule& rule, const std::string& complaint,
                             const std::string& route = "allgather") {
  EXPECT_THAT(EndsWith(rule, {{"route", route}}),
              Each(AllOf(StartsWith("Corrupt: "), HasSubstr("rank 1"), HasSubstr("'g/b+1'"),
                         HasSubstr(complaint))));
}

FaultyTransport::Damage Flip(std::size_t position) {
  return {.fault = Fault::kFlipByte, .position = position, .flip = std::byte{0x10}};
}

struct Field {
  const char* name;
  std::size_t begin;
  std::size_t end;

  friend void PrintTo(const Field& field, std::ostream* out) { *out << field.name; }
};
class CorruptField : public testing::TestWithParam<Field> {};

TEST_P(CorruptField, IsNamedOnEveryRank) {
  const Field& field = GetParam();
  std::string complaint = field.name;
  std::ranges::replace(complaint, '_', ' ');
  for (std::size_t position = field.begin; position < field.end; ++position) {
    SCOPED_TRACE("byte " + std::to_string(position));
    ExpectCorruptEverywhere(DamageThirdFrame(Flip(position)), "frame: " + complaint + " is ");
  }
}

// docs/wire-format.md, "Frame".
INSTANTIATE_TEST_SUITE_P(
    Frame, CorruptField,
    testing::Values(Field{"magic", 0, 4}, Field{"version", 4, 5}, Field{"codec", 5, 6},
                    Field{"dtype", 6, 7}, Field{"reserved_byte", 7, 8}, Field{"plan_epoch", 8, 12},
                    Field{"bucket", 12, 16}, Field{"step", 16, 24}, Field{"element_count", 24, 32},
                    Field{"payload_length", 32, 40}, Field{"checksum", 40, 48}),
    [](const auto& test) { return test.param.name; });

TEST(CorruptFrame, APayloadThatChangedFailsItsChecksum) {
  ExpectCorruptEverywhere(DamageThirdFrame(Flip(kFrameHeaderBytes)), "checksum");
  ExpectCorruptEverywhere(DamageThirdFrame(Flip(0), 1), "checksum");
}

TEST(CorruptFrame, ACutIsNoticedWhereverItIs) {
  const FaultyTransport::Damage nothing_left{.fault = Fault::kTruncate, .position = 0};
  const FaultyTransport::Damage half_a_header{.fault = Fault::kTruncate, .position = 24};
  const FaultyTransport::Damage header_alone{.fault = Fault::kTruncate,
                                             .position = kFrameHeaderBytes};
  ExpectCorruptEverywhere(DamageThirdFrame(nothing_left), "length");
  ExpectCorruptEverywhere(DamageThirdFrame(half_a_header), "length");
  ExpectCorruptEverywhere(DamageThirdFrame(header_alone), "payload length");
  ExpectCorruptEverywhere(DamageThirdFrame({.fault = Fault::kTruncate}, 1), "payload length");
}

TEST(CorruptFrame, PartsAndSumsAreChecked) {
  for (const int number : {3, 4}) {  // The parts of the second step, and its sums.
    ExpectCorruptEverywhere(DamageFrame(number, Flip(kFrameHeaderBytes)), "checksum", "split");
    ExpectCorruptEverywhere(DamageFrame(number, {.fault = Fault::kTruncate}, 1), "payload length",
                            "split");
  }
}

TEST(CorruptFrame, PushesAndAnswersAreChecked) {
  // Four parts of the matrix, so that the sender, the victim and the third rank serve some.
  const std::map<std::string, std::string> way = {
      {"route", "push_pull"}, {"partition_bytes", "1600"}, {"min_elements", "100"}};
  constexpr std::size_t kStepAt = 16;
  for (const int number : {3, 4}) {  // The push of the second step, and its answer.
    SCOPED_TRACE(number);
    for (const auto& [damage, complaint] :
         {std::pair(Flip(kFrameHeaderBytes), "checksum"), std::pair(Flip(kStepAt), "step is")}) {
      EXPECT_THAT(EndsWith(DamageFrame(number, damage), way),
                  Each(AllOf(StartsWith("Corrupt: "), HasSubstr("rank 1"), HasSubstr("'g/b+4'"),
                             HasSubstr(complaint))));
    }
  }
}

TEST(CorruptFrame, AMessageThatGrewIsNoticed) {
  const auto ends = EndsWith(DamageThirdFrame({.fault = Fault::kLengthen}));
  EXPECT_THAT(ends, Each(AllOf(StartsWith("Corrupt: "), HasSubstr("rank 1"))));
}

}  // namespace
}  // namespace weir::corruption_test
