// Parts of a tensor are pushed and pulled at the same time: while servers answer one, the next is
// on its way to them. The network of this test lets neither end before the other has begun, so the
// records show it on any machine.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "coordinator/work/operation_numbers.h"
#include "tests/ops/transport/forwarding_transport.h"

namespace weir::push_pull_overlap_test {
namespace {

constexpr std::uint32_t kParts = 4;
constexpr int kRanks = 2;

/// Holds back one rank's messages once it is armed: those of a pull until the next part's push has
/// begun, and those of a push until the pull of the part before has.
struct Gate {
  std::atomic<bool> armed = false;
  /// A job that does one after the other would wait for ever.
  std::atomic<bool> gave_up = false;
};

class GatedTransport final : public ForwardingTransport {
 public:
  GatedTransport(std::unique_ptr<Transport> inner, Gate& gate)
      : ForwardingTransport(std::move(inner)), gate_(gate) {}

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    return Note(tag, ForwardingTransport::Send(peer, tag, data));
  }
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override {
    return Note(tag, ForwardingTransport::Receive(peer, tag, buffer));
  }
  std::optional<std::size_t> Test(Request request) override {
    const auto exchange = exchange_of_.find(request);
    if (exchange != exchange_of_.end() && Holds(exchange->second)) return {};
    const auto bytes = ForwardingTransport::Test(request);
    if (bytes) exchange_of_.erase(request);
    return bytes;
  }
  void Cancel(Request request) override {
    exchange_of_.erase(request);
    ForwardingTransport::Cancel(request);
  }

 private:
  static constexpr int kMostTests = 500;  // Some thirty is usual.

  /// Exchanges are numbered in the order of parts: 2 * part is its push, the next one its pull.
  Request Note(Tag tag, Request request) {
    if (!gate_.armed || tag.operation < kFirstExchange) return request;
    if (begun_.empty()) first_ = tag.operation;
    const std::uint32_t exchange = tag.operation - first_;
    exchange_of_[request] = exchange;
    begun_[exchange] = true;
    return request;
  }
  bool Holds(std::uint32_t exchange) {
    const bool pull = exchange % 2 == 1;
    if (pull ? exchange + 1 == 2 * kParts : exchange == 0) return false;
    if (begun_.contains(pull ? exchange + 1 : exchange - 1)) return false;
    if (++tests_ > kMostTests) gate_.gave_up = true;
    return !gate_.gave_up;
  }

  Gate& gate_;
  std::uint32_t first_ = 0;
  std::map<std::uint32_t, bool> begun_;
  std::map<Request, std::uint32_t> exchange_of_;  ///< Exchanges of requests under way.
  int tests_ = 0;
};

/// The exchanges of each part in a step with all of them, in the order in which parts were pushed.
std::vector<std::vector<StageRecord>> ExchangesOfAStep(EngineImpl& engine, Gate& gate) {
  const Shape shape{8, 50};
  std::vector<float> values(static_cast<std::size_t>(shape.elements()), 1.0f);
  const auto group = engine.Register({.name = "g",
                                      .tensors = {{.name = "w", .shape = shape}},
                                      .compression = {{"compressor", "onebit"},
                                                      {"route", "push_pull"},
                                                      {"partition_bytes", "400"},
                                                      {"min_elements", "1"}}});
  const std::uint64_t before = engine.recorder().added();
  gate.armed = true;
  group->BeginStep({});
  group->Submit(0, {values.data(), DType::kFloat32, shape},
                {values.data(), DType::kFloat32, shape});
  group->EndStep();
  group->WaitStep();
  gate.armed = false;
  std::vector<StageRecord> records(1024);
  records.resize(engine.recorder().Read(before, records).count);
  std::vector<std::vector<StageRecord>> exchanges;
  std::map<std::uint32_t, std::size_t> places;
  for (const StageRecord& record : records) {
    if (record.stage != Stage::kExchange) continue;
    const auto [place, is_new] = places.try_emplace(record.bucket, exchanges.size());
    if (is_new) exchanges.emplace_back();
    exchanges[place->second].push_back(record);
  }
  return exchanges;
}

TEST(PushPullOverlap, OnePartIsPushedWhileAnotherIsPulled) {
  std::array<Gate, kRanks> gates;
  LocalJob job(kRanks, [&gates](int rank, std::unique_ptr<Transport> direct) {
    return std::make_unique<GatedTransport>(std::move(direct),
                                            gates[static_cast<std::size_t>(rank)]);
  });
  Settings alone;
  alone.fusion_threshold_bytes = 0;  // Each part is a bucket.
  job.Run(
      [&gates](Engine& engine) {
        Gate& gate = gates[static_cast<std::size_t>(engine.rank())];
        const auto parts = ExchangesOfAStep(dynamic_cast<EngineImpl&>(engine), gate);
        EXPECT_FALSE(gate.gave_up) << "a push waits for the pull before it, or the other way round";
        ASSERT_EQ(parts.size(), kParts);
        for (std::size_t p = 0; p < kParts; ++p) {
          ASSERT_EQ(parts[p].size(), 2U) << "a push and a pull";
          if (p == 0) continue;
          const StageRecord& pull = parts[p - 1][1];
          const StageRecord& push = parts[p][0];
          EXPECT_LT(push.start_ns, pull.end_ns) << p;
          EXPECT_LT(pull.start_ns, push.end_ns) << p;
        }
      },
      alone);
}

}  // namespace
}  // namespace weir::push_pull_overlap_test
